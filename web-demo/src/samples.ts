import type { FaultName } from './run/fault';

/** Something worth trying on a sample that has been played. */
export type Try =
  | { title: string; turn: number; say: string }
  | { title: string; turn: number; fault: FaultName; on: string }
  | { title: string; row: { table: string; id: string } }
  | { title: string; node: { graph: string; id: string } };

/** A pack that comes with the page. */
export interface Sample {
  /** The pack's name. */
  name: string;
  title: string;
  about: string;
  tries: Try[];
  load(): Promise<string>;
}

const raw = (imported: Promise<{ default: string }>) => imported.then((it) => it.default);

/** The samples, the first of which is there when the page opens. */
export const samples: Sample[] = [
  {
    name: 'loan',
    title: 'Loan with confirmation',
    about: 'A model reads three values, one is corrected, and a yes lets a planner hand the application in with tools.',
    tries: [
      { title: 'Go back to turn 4 and say no', turn: 4, say: 'no' },
      { title: 'Let the desk for applications time out', turn: 5, fault: 'timeout', on: 'tool loan.application.submit' },
      { title: 'Change the rule that asks for a confirmation', row: { table: 'ce_rule', id: '1' } },
    ],
    load: () => raw(import('../../tests/packs/demo/loan.json?raw')),
  },
  {
    name: 'help_desk',
    title: 'Customer service of a shop',
    about: 'Orders, refunds and a lost card, by rules and a few words. Private data is refused before a model sees it.',
    tries: [
      { title: 'Type a card number in turn 5', turn: 5, say: 'My card number is 4111 1111 1111 1111' },
      { title: 'Say no to the refund', turn: 7, say: 'no' },
      { title: 'Change what the greeting says', row: { table: 'ce_response', id: '1' } },
    ],
    load: () => raw(import('../../tests/packs/demo/help_desk.json?raw')),
  },
  {
    name: 'card_replacement',
    title: 'A yes that counts only in time',
    about: 'Replacing a bank card is a pending action: a yes carries it out, a no drops it, and after two turns it lapses.',
    tries: [
      { title: 'Say no instead', turn: 2, say: 'no' },
      { title: 'Let the task fail', turn: 2, fault: 'unreachable', on: 'task' },
      { title: 'Change for how long the offer stands', row: { table: 'ce_pending_action', id: '1' } },
    ],
    load: () => raw(import('../../tests/packs/demo/card_replacement.json?raw')),
  },
  {
    name: 'order_diagnostics',
    title: 'Two services, one of them busy',
    about: 'A planner asks two services after an order. One stays busy, and the customer hears an honest answer.',
    tries: [
      { title: 'Let the first service answer with 503', turn: 1, fault: 'status_503', on: 'http' },
      { title: 'Let the planner name a tool that is not there', turn: 1, fault: 'unknown_tool', on: 'llm mcp_plan' },
      { title: 'Look at the tool’s call', row: { table: 'ce_http_tool', id: '1' } },
    ],
    load: () => raw(import('../../tests/packs/tools/order_diagnostics.json?raw')),
  },
  {
    name: 'bank_desk',
    title: 'Bank assistant as a flow',
    about: 'A flow document: a PIN in a graph of its own, buttons, cards, and a service that may fail. The graph shows where it stands.',
    tries: [
      { title: 'Let the service refuse in turn 4', turn: 4, fault: 'denied', on: 'http' },
      { title: 'Say something else than a PIN in turn 3', turn: 3, say: 'I forgot it' },
      { title: 'Look at the node that says the balance', node: { graph: 'g_balance', id: 'b_say' } },
    ],
    load: () => raw(import('../../tests/packs/flow/bank_desk.json?raw')),
  },
];

/** Finds a sample by the name of its pack. */
export function sampleOf(name: string): Sample | undefined {
  return samples.find((it) => it.name === name);
}

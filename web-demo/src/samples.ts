import type { FlowEvent } from './flow/event';
import type { FaultName } from './run/fault';

/** An experiment with a sample that has been played. */
export type Experiment =
  | { title: string; turn: number; say: string }
  | { title: string; turn: number; event: FlowEvent }
  | { title: string; turn: number; fault: FaultName; on: string }
  | { title: string; row: { table: string; id: string } }
  | { title: string; node: { graph: string; id: string } };

/** A pack that is part of the page. */
export interface Sample {
  /** The pack's name. */
  name: string;
  title: string;
  description: string;
  experiments: Experiment[];
  load(): Promise<string>;
}

const defaultExport = (imported: Promise<{ default: string }>) => imported.then((it) => it.default);

/** The samples; the page opens with the first one. */
export const samples: Sample[] = [
  {
    name: 'loan',
    title: 'Loan with confirmation',
    description: 'A model extracts three values, one is corrected, and after confirmation a planner submits the application with tools.',
    experiments: [
      { title: 'Decline in turn 4', turn: 4, say: 'no' },
      { title: 'Time out the application service', turn: 5, fault: 'timeout', on: 'tool loan.application.submit' },
      { title: 'Edit the confirmation rule', row: { table: 'ce_rule', id: '1' } },
    ],
    load: () => defaultExport(import('../../tests/packs/demo/loan.json?raw')),
  },
  {
    name: 'help_desk',
    title: 'Shop customer service',
    description: 'Orders, refunds and a lost card, by rules and keywords. Private data is rejected before it reaches a model.',
    experiments: [
      { title: 'Enter a card number in turn 5', turn: 5, say: 'My card number is 4111 1111 1111 1111' },
      { title: 'Decline the refund', turn: 7, say: 'no' },
      { title: 'Edit the greeting', row: { table: 'ce_response', id: '1' } },
    ],
    load: () => defaultExport(import('../../tests/packs/demo/help_desk.json?raw')),
  },
  {
    name: 'card_replacement',
    title: 'Confirmation that expires',
    description: 'Replacing a bank card is a pending action: yes runs it, no cancels it, and it expires after two turns.',
    experiments: [
      { title: 'Decline instead', turn: 2, say: 'no' },
      { title: 'Fail the task', turn: 2, fault: 'unreachable', on: 'task' },
      { title: 'Change when the offer expires', row: { table: 'ce_pending_action', id: '1' } },
    ],
    load: () => defaultExport(import('../../tests/packs/demo/card_replacement.json?raw')),
  },
  {
    name: 'order_diagnostics',
    title: 'Two services, one overloaded',
    description: 'A planner calls two services about an order. One stays overloaded, and the customer gets an honest answer.',
    experiments: [
      { title: 'Fail the first service with 503', turn: 1, fault: 'status_503', on: 'http' },
      { title: 'Make the planner call an unknown tool', turn: 1, fault: 'unknown_tool', on: 'llm mcp_plan' },
      { title: 'Show the tool’s request', row: { table: 'ce_http_tool', id: '1' } },
    ],
    load: () => defaultExport(import('../../tests/packs/tools/order_diagnostics.json?raw')),
  },
  {
    name: 'bank_desk',
    title: 'Bank assistant as a flow',
    description: 'A flow document: a PIN check in its own graph, buttons, cards, and a service that may fail. The graph shows the current node.',
    experiments: [
      { title: 'Deny the service call in turn 4', turn: 4, fault: 'denied', on: 'http' },
      { title: 'Enter no PIN in turn 3', turn: 3, say: 'I forgot it' },
      { title: 'Show the balance node', node: { graph: 'g_balance', id: 'b_say' } },
    ],
    load: () => defaultExport(import('../../tests/packs/flow/bank_desk.json?raw')),
  },
  {
    name: 'helpdesk',
    title: 'Help desk with articles and people',
    description: 'Questions are answered from twelve articles with citations, a Python script computes when a ticket is due, and a person takes over.',
    experiments: [
      { title: 'Ask something that no article answers', turn: 2, say: 'What is for lunch?' },
      { title: 'Let the problem affect everyone', turn: 5, say: 'everyone' },
      { title: 'Show the script', node: { graph: 'report', id: 'plan' } },
    ],
    load: () => defaultExport(import('../../tests/packs/flow/helpdesk.json?raw')),
  },
  {
    name: 'claim_desk',
    title: 'Insurance claim as a run',
    description: 'A chain: an assistant collects the facts, an agent assesses them, a person approves, a webhook books, and the customer is reminded after three days.',
    experiments: [
      { title: 'Reject the claim in turn 4', turn: 4, event: { type: 'run.resume', step: 'approve', decision: 'reject', fields: { amount: 0 }, comment: 'Not insured.', by: 'Kim' } },
      { title: 'Deny the webhook call in turn 5', turn: 5, fault: 'denied', on: 'http' },
      { title: 'Show the approval step', node: { graph: 'claim', id: 'approve' } },
    ],
    load: () => defaultExport(import('../../tests/packs/chain/claim_desk.json?raw')),
  },
];

/** Finds a sample by pack name. */
export function findSample(name: string): Sample | undefined {
  return samples.find((it) => it.name === name);
}

import { fromSql } from '../pack/sql';
import { spans } from '../json-text';
import type { Recorded } from '../protocol';
import type { Simulator } from '../simulator.svelte';
import type { Turn } from '../turn.svelte';
import { openFile } from './carry';
import { filed, type Filed } from './file';
import { personal, type Found } from './found';
import { fromAudit, type AuditTurn } from './from-audit';

/** What came of an import. */
export interface Imported {
  verdict: string;
  turns: number;
  /** How many of them end as they were recorded. */
  equal: number;
  /** What could not be taken over, a sentence each. */
  left: string[];
  found: Found[];
}

/** Takes in whatever a text is: journals, a pack, an audit trail, an SQL dump. */
export async function importText(simulator: Simulator, text: string, name: string): Promise<Imported> {
  await simulator.ready.catch(() => {});
  if (/\.sql$/i.test(name) || /^\s*(--|insert\s)/i.test(text)) return ofSql(simulator, text);
  const file = filed(text);
  if (file) {
    await openFile(simulator, file);
    return ofTurns(simulator, file, text);
  }
  spans(text);
  const value = JSON.parse(text) as unknown;
  if ((value as { doc?: unknown } | null)?.doc === 'conversation_flow') {
    await simulator.open(`{\n"name": ${JSON.stringify(name.replace(/(\.flow)?\.json$/i, ''))},\n"documents": [\n${text.trim()}\n]\n}\n`);
    simulator.restart();
    return { verdict: 'The flow document is open, as a pack of its own.', turns: 0, equal: 0, left: [], found: [] };
  }
  if (isPack(value)) {
    await simulator.open(text);
    simulator.restart();
    return { verdict: 'The pack is open.', turns: 0, equal: 0, left: [], found: [] };
  }
  return ofAudit(simulator, value, text);
}

function isPack(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return 'tables' in value || ('name' in value && ('turns' in value || 'documents' in value));
}

/** The pack that is open stands for the configuration, which an audit trail does not tell. */
async function ofAudit(simulator: Simulator, value: unknown, text: string): Promise<Imported> {
  const { conversationId, turns, left } = fromAudit(value);
  simulator.tree.show(undefined);
  const stays = simulator.stays();
  let parent: Turn | undefined;
  const differences: string[] = [];
  for (const [index, told] of turns.entries()) {
    const said = {
      conversation: 'main',
      conversationId,
      message: told.message,
      inputParams: told.inputParams,
      reset: told.reset,
      at: told.at,
      seed: index + 1,
    };
    parent = await simulator.recall(said, parent, recordedOf(told), index === 0 ? { reason: 'audit trail' } : {});
    if (!stays()) throw new Error('another session was opened meanwhile: import it again');
    const differs = differenceOf(parent, told);
    if (differs) differences.push(`Turn ${index + 1}: ${differs}`);
  }
  const equal = turns.length - differences.length;
  const verdict =
    equal === turns.length
      ? `All ${turns.length} turns end as the audit trail tells, on the pack that is open.`
      : `${equal} of ${turns.length} turns end as the audit trail tells, on the pack that is open. ${differences[0]}`;
  return { verdict, turns: turns.length, equal, left: [...differences.slice(1), ...left], found: personal([text]) };
}

function recordedOf({ answers }: AuditTurn): Recorded[] {
  return answers.map(({ asked, reply, error }) => {
    const [kind, name] = Object.entries(asked)[0] ?? ['', ''];
    const asks = `${kind} ${name}`;
    const outcome = error ? JSON.stringify({ error }) : typeof reply === 'string' ? reply : JSON.stringify(reply);
    return { request: null, asks, outcome, took: 0, origin: 'recorded' };
  });
}

/** The first thing in which a turn differs from what the trail tells of it. */
function differenceOf(turn: Turn, { expected }: AuditTurn): string {
  const { outcome, notices } = turn.record ?? {};
  if (!outcome) return turn.error?.message ?? 'it did not end';
  const fault = outcome.fault?.code;
  if (expected.fault !== fault) return `it ends with ${fault ?? 'an answer'} and not with ${expected.fault ?? 'an answer'}`;
  if (expected.intent !== null && expected.intent !== outcome.intent) return `the intent is ${outcome.intent} and not ${expected.intent}`;
  if (expected.state !== null && expected.state !== outcome.state) return `the state is ${outcome.state} and not ${expected.state}`;
  if (expected.reply !== undefined && expected.reply !== outcome.payload?.value) return 'the reply is another one';
  const stages = (notices ?? []).flatMap((it) => (it.kind === 'audit' && !/^STEP_(ENTER|EXIT)$|^PROMPT_RENDERING$/.test(it.stage) ? [it.stage] : []));
  const wanted = expected.stages.filter((it) => !/^STEP_(ENTER|EXIT)$|^PROMPT_RENDERING$/.test(it));
  const at = wanted.findIndex((it, index) => stages[index] !== it);
  return at < 0 ? '' : `decision ${at + 1} is ${stages[at] ?? 'missing'} and not ${wanted[at]}`;
}

function ofTurns(simulator: Simulator, file: Filed, text: string): Imported {
  const turns = simulator.tree.turns.filter((it) => it.recordedHash !== '');
  const equal = turns.filter((it) => it.record?.stateHash === it.recordedHash).length;
  const first = turns.find((it) => it.record?.stateHash !== it.recordedHash);
  const why = first && (first.error ? `Turn ${first.number} differs: ${first.error.message}` : `Turn ${first.number} ends with another state hash. ${causeOf(first, file)}`);
  const verdict = equal === turns.length ? `All ${turns.length} turns end with the recorded state hash.` : `${equal} of ${turns.length} turns end with the recorded state hash. ${why}`;
  return { verdict, turns: turns.length, equal, left: [], found: personal([text]) };
}

/** What may be behind a turn that ends otherwise though it asked for the same. */
function causeOf(turn: Turn, { turns }: Filed): string {
  const told = turns.find((it) => it.stateHash === turn.recordedHash);
  return told && told.config !== turn.record?.config
    ? 'Its configuration compiles to another one here, so the engine that recorded it is another version.'
    : 'Its configuration is the same, so the engine that recorded it is another version, or the file was changed.';
}

async function ofSql(simulator: Simulator, text: string): Promise<Imported> {
  const { tables, left } = fromSql(text);
  const names = Object.keys(tables);
  if (names.length === 0) throw new Error('the file has no insert into a table ce_…: choose a dump of the rows of ConvEngine');
  const rows = (name: string) => (tables[name] ?? []).map((it) => `      ${JSON.stringify(it)}`).join(',\n');
  const written = names.map((it) => `    ${JSON.stringify(it)}: [\n${rows(it)}\n    ]`).join(',\n');
  await simulator.open(`{\n  "name": "imported",\n  "tables": {\n${written}\n  }\n}\n`);
  const count = names.reduce((sum, it) => sum + (tables[it]?.length ?? 0), 0);
  return { verdict: `${count} rows of ${names.length} tables are open as a pack.`, turns: 0, equal: 0, left, found: [] };
}

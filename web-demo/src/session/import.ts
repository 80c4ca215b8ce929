import { isProgram } from '../flow/flow-pack';
import { fromSql } from '../pack/sql';
import { parseSpans } from '../json-text';
import { plural } from '../plural';
import type { RecordedAnswer } from '../protocol';
import type { Simulator } from '../simulator.svelte';
import type { Turn } from '../turn.svelte';
import { isTalkFile, openTalk, type TextFile } from './open-talk';
import { openFile } from './transfer';
import { parseSessionFile, type SessionFile } from './session-file';
import { findPersonalData, type PersonalData } from './personal-data';
import { fromAudit, isAuditTrail, type AuditTurn } from './from-audit';
import { describeUnknownFile } from './unknown-file';

/** The result of an import. */
export interface ImportResult {
  verdict: string;
  turns: number;
  /** How many of them end as recorded. */
  matching: number;
  /** What could not be imported, one sentence each. */
  notes: string[];
  personalData: PersonalData[];
}

/** Imports files: a talk, which may come with its pack, or one other file. */
export async function importFiles(simulator: Simulator, files: TextFile[]): Promise<ImportResult> {
  await simulator.ready.catch(() => {});
  const talk = files.find(isTalkFile);
  if (talk) return openTalk(simulator, talk, files.filter((it) => it !== talk));
  const [first, ...rest] = files;
  if (!first) throw new Error('no file was chosen');
  const result = await importText(simulator, first.text, first.name);
  return rest.length === 0 ? result : { ...result, notes: [...result.notes, `Only '${first.name}' was opened: just a talk is opened together with another file.`] };
}

/** Imports a text: journals, a pack, a flow document, an audit trail or an SQL dump. */
async function importText(simulator: Simulator, text: string, name: string): Promise<ImportResult> {
  if (/\.sql$/i.test(name) || /^\s*(--|insert\s)/i.test(text)) return importSql(simulator, text);
  const file = parseSessionFile(text);
  if (file) {
    await openFile(simulator, file);
    return compareJournals(simulator, file, text);
  }
  // What looks like JSON gets the place of its error.
  if (!/^\s*[[{]/.test(text)) throw new Error(describeUnknownFile(name, text));
  parseSpans(text);
  const value = JSON.parse(text) as unknown;
  if (isProgram(value)) {
    await simulator.openPack(`{\n"name": ${JSON.stringify(name.replace(/(\.flow)?\.json$/i, ''))},\n"documents": [\n${text.trim()}\n]\n}\n`);
    simulator.restart();
    return { verdict: 'The document was opened as a new pack.', turns: 0, matching: 0, notes: [], personalData: [] };
  }
  if (isPack(value)) {
    await simulator.openPack(text);
    simulator.restart();
    return { verdict: 'The pack was opened.', turns: 0, matching: 0, notes: [], personalData: [] };
  }
  if (!isAuditTrail(value)) throw new Error(describeUnknownFile(name, text));
  return importAudit(simulator, value, text);
}

function isPack(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return 'tables' in value || ('name' in value && ('turns' in value || 'documents' in value));
}

/** Imports an audit trail and replays it on the open pack, because a trail does not contain its configuration. */
async function importAudit(simulator: Simulator, value: unknown, text: string): Promise<ImportResult> {
  const { conversationId, turns, notes } = fromAudit(value);
  simulator.tree.showBranch(undefined);
  const isCurrent = simulator.sessionCheck();
  let parent: Turn | undefined;
  const differences: string[] = [];
  for (const [index, recordedTurn] of turns.entries()) {
    const input = {
      conversation: 'main',
      conversationId,
      message: recordedTurn.message,
      inputParams: recordedTurn.inputParams,
      reset: recordedTurn.reset,
      at: recordedTurn.at,
      seed: index + 1,
    };
    parent = await simulator.runRecorded(input, parent, toRecordedAnswers(recordedTurn), index === 0 ? { reason: 'audit trail' } : {});
    if (!isCurrent()) throw new Error('another session was opened during the import; import it again');
    const differs = findDifference(parent, recordedTurn);
    if (differs) differences.push(`Turn ${index + 1}: ${differs}`);
  }
  const matching = turns.length - differences.length;
  const verdict =
    matching === turns.length
      ? `${allTurns(matching, 'match', 'matches')} the audit trail on the open pack.`
      : `${matching} of ${plural(turns.length, 'turn')} ${matching === 1 ? 'matches' : 'match'} the audit trail on the open pack. ${differences[0]}`;
  return { verdict, turns: turns.length, matching, notes: [...differences.slice(1), ...notes], personalData: findPersonalData([text]) };
}

function toRecordedAnswers({ answers }: AuditTurn): RecordedAnswer[] {
  return answers.map(({ target, reply, error }) => {
    const [kind, name] = Object.entries(target)[0] ?? ['', ''];
    const asks = `${kind} ${name}`;
    const outcome = error ? JSON.stringify({ error }) : typeof reply === 'string' ? reply : JSON.stringify(reply);
    return { request: null, target: asks, outcome, delayMs: 0, origin: 'recorded' };
  });
}

/** Describes the first difference between a turn and the trail; empty if there is none. */
function findDifference(turn: Turn, { expected }: AuditTurn): string {
  const { outcome, notices } = turn.record ?? {};
  if (!outcome) return turn.error?.message ?? 'it did not finish';
  const fault = outcome.fault?.code;
  if (expected.fault !== fault) return `it ends with ${fault ?? 'an answer'} instead of ${expected.fault ?? 'an answer'}`;
  if (expected.intent !== null && expected.intent !== outcome.intent) return `the intent is ${outcome.intent} instead of ${expected.intent}`;
  if (expected.state !== null && expected.state !== outcome.state) return `the state is ${outcome.state} instead of ${expected.state}`;
  if (expected.reply !== undefined && expected.reply !== outcome.payload?.value) return 'the reply differs';
  const stages = (notices ?? []).flatMap((it) => (it.kind === 'audit' && !/^STEP_(ENTER|EXIT)$|^PROMPT_RENDERING$/.test(it.stage) ? [it.stage] : []));
  const expectedStages = expected.stages.filter((it) => !/^STEP_(ENTER|EXIT)$|^PROMPT_RENDERING$/.test(it));
  const at = expectedStages.findIndex((it, index) => stages[index] !== it);
  return at < 0 ? '' : `decision ${at + 1} is ${stages[at] ?? 'missing'} instead of ${expectedStages[at]}`;
}

function compareJournals(simulator: Simulator, file: SessionFile, text: string): ImportResult {
  const turns = simulator.tree.turns.filter((it) => it.recordedHash !== '');
  const matching = turns.filter((it) => it.record?.stateHash === it.recordedHash).length;
  const first = turns.find((it) => it.record?.stateHash !== it.recordedHash);
  const reason = first && (first.error ? `Turn ${first.number} differs: ${first.error.message}` : `Turn ${first.number} ends with a different state hash. ${describeCause(first, file)}`);
  const verdict =
    matching === turns.length
      ? `${allTurns(matching, 'end', 'ends')} with the recorded state hash.`
      : `${matching} of ${plural(turns.length, 'turn')} ${matching === 1 ? 'ends' : 'end'} with the recorded state hash. ${reason}`;
  return { verdict, turns: turns.length, matching, notes: [], personalData: findPersonalData([text]) };
}

/** Begins a sentence about all turns: `The turn ends`, `All 2 turns end`. */
function allTurns(count: number, verb: string, singularVerb: string): string {
  return count === 1 ? `The turn ${singularVerb}` : `All ${plural(count, 'turn')} ${verb}`;
}

/** Describes why a turn that made the same requests may end differently. */
function describeCause(turn: Turn, { turns }: SessionFile): string {
  const recordedTurn = turns.find((it) => it.stateHash === turn.recordedHash);
  return recordedTurn && recordedTurn.config !== turn.record?.config
    ? 'Its configuration compiles differently here, so it was recorded by another engine version.'
    : 'Its configuration is the same, so it was recorded by another engine version, or the file was changed.';
}

async function importSql(simulator: Simulator, text: string): Promise<ImportResult> {
  const { tables, notes } = fromSql(text);
  const names = Object.keys(tables);
  if (names.length === 0) throw new Error('the file has no INSERT into a ce_… table: choose a dump of ConvEngine tables');
  const rows = (name: string) => (tables[name] ?? []).map((it) => `      ${JSON.stringify(it)}`).join(',\n');
  const written = names.map((it) => `    ${JSON.stringify(it)}: [\n${rows(it)}\n    ]`).join(',\n');
  await simulator.openPack(`{\n  "name": "imported",\n  "tables": {\n${written}\n  }\n}\n`);
  const count = names.reduce((sum, it) => sum + (tables[it]?.length ?? 0), 0);
  return { verdict: `Opened ${plural(count, 'row')} from ${plural(names.length, 'table')} as a pack.`, turns: 0, matching: 0, notes, personalData: [] };
}

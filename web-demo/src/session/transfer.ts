import type { Repeat } from '../protocol';
import { FAULTS, type FaultName } from '../run/fault';
import type { Simulator } from '../simulator.svelte';
import { findSample } from '../samples';
import type { Turn } from '../turn.svelte';
import { writeSessionFile, type SessionFile } from './session-file';
import { formatPack } from './format-pack';
import type { SavedSession } from './session-store';
import type { FinishedTurn } from './turn-data';
import { decode, encode, type SharedSession } from './share';

/** How many digits of a hash identify a turn. */
const HASH_DIGITS = 16;

/** Collects everything of a session that cannot be derived, for a link. */
export function toSharedSession(simulator: Simulator): SharedSession {
  const { tree } = simulator;
  const turns = tree.turns.filter((it) => it.record);
  const { cursor } = tree;
  const head = tree.head?.lastFinished;
  const at = cursor?.step === undefined ? -1 : turns.indexOf(cursor.turn);
  const otherPacks = [...new Set(turns.map((it) => simulator.findPack(it)))].filter((it) => it !== simulator.pack);
  return {
    end: endHash(head),
    pack: simulator.pack,
    ...(simulator.sample ? { sample: simulator.sample.name } : {}),
    turns: turns.map((turn) => ({
      parent: parentIndex(turn, turns),
      input: turn.input,
      answers: turn.exchanges.map(({ origin, raw, completion }) => ({ origin, outcome: raw?.outcome ?? JSON.stringify(completion.outcome), at: completion.at })),
      ...(turn.reason ? { reason: turn.reason } : {}),
      ...(simulator.findPack(turn) === simulator.pack ? {} : { pack: otherPacks.indexOf(simulator.findPack(turn)) }),
      ...(turn.silentFaults.length > 0 ? { silentFaults: turn.silentFaults.map(({ place, decision }): [number, string] => [place, 'fault' in decision ? decision.fault.name : '']) } : {}),
    })),
    ...(otherPacks.length > 0 ? { otherPacks } : {}),
    head: head ? turns.indexOf(head) : -1,
    ...(at < 0 ? {} : { cursor: [at, cursor?.step ?? 0] as [number, number] }),
  };
}

/** Encodes a session as a link fragment. */
export function createLink(simulator: Simulator): Promise<string> {
  return encode(toSharedSession(simulator), loadSampleText);
}

/** Opens a stored or linked session. */
export async function openSession(simulator: Simulator, session: SavedSession): Promise<void> {
  await openShared(simulator, 'fragment' in session ? await decode(session.fragment, loadSampleText) : session);
}

/** Replaces the current session. Answers come from the other one: no person is asked and no service is called. */
async function openShared(simulator: Simulator, shared: SharedSession): Promise<void> {
  await simulator.ready.catch(() => {});
  const open = simulator.openPack(shared.pack);
  const isCurrent = simulator.sessionCheck();
  await open;
  if (!isCurrent()) return;
  simulator.sample = shared.sample === undefined ? undefined : findSample(shared.sample);
  const turns: Turn[] = [];
  for (const { parent, input, answers, reason = '', silentFaults = [], pack } of shared.turns) {
    const before = answers.map((_, index) => answers[index - 1]?.at ?? input.at);
    const recorded = answers.map(({ origin, outcome, at }, index) => ({ request: null, outcome, delayMs: Math.max(0, at - (before[index] ?? at)), origin }));
    const options = { reason, silentFaults: silentFaults.filter(([, name]) => name in FAULTS).map(faultEdit), pack: pack === undefined ? undefined : shared.otherPacks?.[pack] };
    turns.push(await simulator.runRecorded(input, parent === null ? undefined : turns[parent], recorded, options));
    if (!isCurrent()) return;
  }
  simulator.tree.showBranch(turns[shared.head]);
  if (endHash(turns[shared.head]) !== shared.end) simulator.notification = 'This session ended differently when it was saved or shared: its engine version differs, or its answers no longer match.';
  const [turn, step] = shared.cursor ?? [];
  const cursorTurn = turn === undefined ? undefined : turns[turn];
  if (cursorTurn) simulator.tree.select(cursorTurn, step);
}

/** Exports a session as a file of journals. */
export async function exportFile(simulator: Simulator): Promise<string> {
  const { tree, client } = simulator;
  const turns = tree.turns.filter((it) => it.record);
  const head = tree.head?.lastFinished;
  const stored = await client.journals(turns.map((it) => it.record?.turn ?? 0));
  const configs = new Map(stored.map(({ config, pack }) => [config, pack]));
  return writeSessionFile({
    conversationId: turns[0]?.input.conversationId ?? '',
    turns: turns.map((turn, index) => ({
      journal: stored[index]?.journal ?? null,
      stateHash: stored[index]?.stateHash ?? '',
      config: turn.record?.config ?? '',
      parent: parentIndex(turn, turns),
      ...(turn.reason ? { reason: turn.reason } : {}),
    })),
    configs,
    ...(head ? { head: turns.indexOf(head) } : {}),
  });
}

/** Opens a file of journals and replaces the current session. Each turn is replayed from its journal and compared. */
export async function openFile(simulator: Simulator, file: SessionFile): Promise<void> {
  const last = file.turns.findLast((it) => it.journal !== null);
  const pack = last && file.configs.get(last.config);
  if (pack === undefined) throw new Error('the file contains no turn with its configuration; export it again');
  const open = simulator.openPack(formatPack(pack));
  const isCurrent = simulator.sessionCheck();
  await open;
  const turns: (Turn | undefined)[] = [];
  for (const [index, { journal, config, stateHash, parent, reason }] of file.turns.entries()) {
    const before = parent === undefined ? turns[index - 1] : parent === null ? undefined : turns[parent];
    const text = file.configs.get(config);
    if (journal === null || text === undefined) {
      turns.push(before);
      continue;
    }
    if (!isCurrent()) return;
    turns.push(await simulator.replayJournal(journal, config === last?.config ? formatPack(text) : text, stateHash, before, reason));
  }
  simulator.tree.showBranch(turns[file.head ?? turns.length - 1]);
}

/** Returns the finished turns of the shown branch, for exports. */
export function finishedTurns(simulator: Simulator): FinishedTurn[] {
  const { path } = simulator.tree;
  return path.flatMap(({ input, record }) => (record ? [{ input: input, exchanges: record.exchanges, outcome: record.outcome, notices: record.notices }] : []));
}

async function loadSampleText(name: string): Promise<string | undefined> {
  return findSample(name)?.load();
}

function faultEdit([place, name]: [number, string]): Repeat['edits'][number] {
  return { place, decision: { fault: { name: name as FaultName } } };
}

function endHash(head: Turn | undefined): string {
  return head?.record?.hash.slice(0, HASH_DIGITS) ?? '';
}

function parentIndex(turn: Turn, turns: Turn[]): number | null {
  const before = turn.parent?.lastFinished;
  return before ? turns.indexOf(before) : null;
}

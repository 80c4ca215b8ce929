import type { Simulator } from '../simulator.svelte';
import { sampleOf } from '../samples';
import type { Turn } from '../turn.svelte';
import { fileOf, type Filed } from './file';
import { pretty } from './pretty';
import type { Played } from './saved';
import { decode, encode, type Shared } from './share';

/** Digits of a hash that tell whether two turns are the same. */
const DIGITS = 16;

/** Everything of a session that cannot be derived, for a link. */
export function sharedOf(simulator: Simulator): Shared {
  const { tree } = simulator;
  const turns = tree.turns.filter((it) => it.record);
  const cursor = tree.cursor;
  const step = cursor?.step;
  return {
    end: endOf(tree.head),
    pack: simulator.pack,
    ...(simulator.sample ? { sample: simulator.sample.name } : {}),
    turns: turns.map((turn) => ({
      parent: parentOf(turn, turns),
      said: turn.said,
      answers: turn.answered.map(({ origin, raw, completion }) => ({ origin, outcome: raw?.outcome ?? JSON.stringify(completion.outcome), at: completion.at })),
      ...(turn.reason ? { reason: turn.reason } : {}),
    })),
    head: tree.head ? turns.indexOf(tree.head) : -1,
    ...(cursor && step !== undefined ? { cursor: [turns.indexOf(cursor.turn), step] as [number, number] } : {}),
  };
}

/** Writes a session as the fragment of a link. */
export function linkOf(simulator: Simulator): Promise<string> {
  return encode(sharedOf(simulator), sampleText);
}

/** Opens a link in the place of what is there. Answers come from it, so that nobody is asked and nothing is called. */
export async function openLink(simulator: Simulator, fragment: string): Promise<void> {
  const shared = await decode(fragment, sampleText);
  await simulator.ready.catch(() => {});
  await simulator.open(shared.pack);
  simulator.sample = shared.sample === undefined ? undefined : sampleOf(shared.sample);
  const turns: Turn[] = [];
  for (const { parent, said, answers, reason } of shared.turns) {
    const before = answers.map((_, index) => answers[index - 1]?.at ?? said.at);
    const recorded = answers.map(({ origin, outcome, at }, index) => ({ request: null, outcome, took: Math.max(0, at - (before[index] ?? at)), origin }));
    turns.push(await simulator.recall(said, parent === null ? undefined : turns[parent], recorded, reason ?? ''));
  }
  simulator.tree.show(turns[shared.head]);
  if (endOf(turns[shared.head]) !== shared.end) simulator.remark = 'This is not how it ended where the link was made: the engine is another one there, or the answers do not fit any more.';
  const [turn, step] = shared.cursor ?? [];
  const looked = turn === undefined ? undefined : turns[turn];
  if (looked) simulator.tree.look(looked, step);
}

/** Writes a session as a file of journals. */
export async function fileText(simulator: Simulator): Promise<string> {
  const { tree, client } = simulator;
  const turns = tree.turns.filter((it) => it.record);
  const stored = await client.journals(turns.map((it) => it.record?.turn ?? 0));
  const configs = new Map(stored.map(({ config, pack }) => [config, pack]));
  return fileOf({
    conversationId: turns[0]?.said.conversationId ?? '',
    turns: turns.map((turn, index) => ({
      journal: stored[index]?.journal ?? null,
      stateHash: stored[index]?.stateHash ?? '',
      config: turn.record?.config ?? '',
      parent: parentOf(turn, turns),
      ...(turn.reason ? { reason: turn.reason } : {}),
    })),
    configs,
    ...(tree.head ? { head: turns.indexOf(tree.head) } : {}),
  });
}

/** Opens a file of journals in the place of what is there: each turn is run again from its journal and compared. */
export async function openFile(simulator: Simulator, file: Filed): Promise<void> {
  const last = file.turns.findLast((it) => it.journal !== null);
  const pack = last && file.configs.get(last.config);
  if (pack === undefined) throw new Error('the file has no turn with its configuration: export it again');
  await simulator.open(pretty(pack));
  const turns: (Turn | undefined)[] = [];
  for (const [index, { journal, config, stateHash, parent, reason }] of file.turns.entries()) {
    const before = parent === undefined ? turns[index - 1] : parent === null ? undefined : turns[parent];
    const text = file.configs.get(config);
    if (journal === null || text === undefined) {
      turns.push(before);
      continue;
    }
    turns.push(await simulator.adopt(journal, config === last?.config ? pretty(text) : text, stateHash, before, reason));
  }
  simulator.tree.show(turns[file.head ?? turns.length - 1]);
}

/** The turns of the branch that is shown, as exports need them. */
export function playedOf(simulator: Simulator): Played[] {
  const { path } = simulator.tree;
  return path.flatMap(({ said, record }) => (record ? [{ said, answered: record.answered, outcome: record.outcome, notices: record.notices }] : []));
}

async function sampleText(name: string): Promise<string | undefined> {
  return sampleOf(name)?.load();
}

function endOf(head: Turn | undefined): string {
  return head?.record?.hash.slice(0, DIGITS) ?? '';
}

function parentOf(turn: Turn, turns: Turn[]): number | null {
  for (let at = turn.parent; at; at = at.parent) if (at.record) return turns.indexOf(at);
  return null;
}

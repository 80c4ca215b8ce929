import type { Again } from '../protocol';
import { FAULTS, type FaultName } from '../run/fault';
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
  const { cursor } = tree;
  const head = tree.head?.ended;
  const at = cursor?.step === undefined ? -1 : turns.indexOf(cursor.turn);
  const others = [...new Set(turns.map((it) => simulator.packOf(it)))].filter((it) => it !== simulator.pack);
  return {
    end: endOf(head),
    pack: simulator.pack,
    ...(simulator.sample ? { sample: simulator.sample.name } : {}),
    turns: turns.map((turn) => ({
      parent: parentOf(turn, turns),
      said: turn.said,
      answers: turn.answered.map(({ origin, raw, completion }) => ({ origin, outcome: raw?.outcome ?? JSON.stringify(completion.outcome), at: completion.at })),
      ...(turn.reason ? { reason: turn.reason } : {}),
      ...(simulator.packOf(turn) === simulator.pack ? {} : { pack: others.indexOf(simulator.packOf(turn)) }),
      ...(turn.struck.length > 0 ? { struck: turn.struck.map(({ place, decision }): [number, string] => [place, 'fault' in decision ? decision.fault.name : '']) } : {}),
    })),
    ...(others.length > 0 ? { others } : {}),
    head: head ? turns.indexOf(head) : -1,
    ...(at < 0 ? {} : { cursor: [at, cursor?.step ?? 0] as [number, number] }),
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
  const open = simulator.open(shared.pack);
  const stays = simulator.stays();
  await open;
  if (!stays()) return;
  simulator.sample = shared.sample === undefined ? undefined : sampleOf(shared.sample);
  const turns: Turn[] = [];
  for (const { parent, said, answers, reason = '', struck = [], pack } of shared.turns) {
    const before = answers.map((_, index) => answers[index - 1]?.at ?? said.at);
    const recorded = answers.map(({ origin, outcome, at }, index) => ({ request: null, outcome, took: Math.max(0, at - (before[index] ?? at)), origin }));
    const told = { reason, struck: struck.filter(([, name]) => name in FAULTS).map(edit), pack: pack === undefined ? undefined : shared.others?.[pack] };
    turns.push(await simulator.recall(said, parent === null ? undefined : turns[parent], recorded, told));
    if (!stays()) return;
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
  const head = tree.head?.ended;
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
    ...(head ? { head: turns.indexOf(head) } : {}),
  });
}

/** Opens a file of journals in the place of what is there: each turn is run again from its journal and compared. */
export async function openFile(simulator: Simulator, file: Filed): Promise<void> {
  const last = file.turns.findLast((it) => it.journal !== null);
  const pack = last && file.configs.get(last.config);
  if (pack === undefined) throw new Error('the file has no turn with its configuration: export it again');
  const open = simulator.open(pretty(pack));
  const stays = simulator.stays();
  await open;
  const turns: (Turn | undefined)[] = [];
  for (const [index, { journal, config, stateHash, parent, reason }] of file.turns.entries()) {
    const before = parent === undefined ? turns[index - 1] : parent === null ? undefined : turns[parent];
    const text = file.configs.get(config);
    if (journal === null || text === undefined) {
      turns.push(before);
      continue;
    }
    if (!stays()) return;
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

function edit([place, name]: [number, string]): Again['edits'][number] {
  return { place, decision: { fault: { name: name as FaultName } } };
}

function endOf(head: Turn | undefined): string {
  return head?.record?.hash.slice(0, DIGITS) ?? '';
}

function parentOf(turn: Turn, turns: Turn[]): number | null {
  const before = turn.parent?.ended;
  return before ? turns.indexOf(before) : null;
}

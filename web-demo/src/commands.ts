import { sessionOf, stackOf } from './flow/session';
import { samples } from './samples';
import type { Simulator } from './simulator.svelte';
import type { Turn } from './turn.svelte';
import { next, NEXT_DAY } from './view/chat/next.svelte';
import { AREAS, layout, type Area } from './view/layout.svelte';
import { singleKeys } from './view/single-keys.svelte';

/** Something that the page can do, by its name. */
export interface Command {
  name: string;
  keys?: string;
  run(): void;
}

const AREA_NAMES: Record<Area, string> = { chat: 'chat', timeline: 'timeline', inspector: 'inspector', config: 'configuration' };

/** Lists all that can be done now. */
export function commands(simulator: Simulator): Command[] {
  const { tree, reach } = simulator;
  const turn = tree.cursor?.turn;
  const anyway: Command[] = [
    ...AREAS.map((it) => ({ name: `Go to the ${AREA_NAMES[it]}`, keys: 'F6', run: () => layout.go(it) })),
    { name: 'New conversation', run: () => (simulator.restart(next.start), layout.go('chat')) },
    { name: 'New chat with the same id: the next message resets the conversation', run: () => ((next.reset = true), layout.go('chat')) },
    { name: 'The next message comes the next day', run: () => ((next.wait = NEXT_DAY), layout.go('chat')) },
    { name: 'Play the turns of the pack', run: () => void simulator.playPack() },
    ...samples.map((it) => ({ name: `Open the sample: ${it.title}`, run: () => void simulator.choose(it.name) })),
    { name: 'Show all samples', run: () => layout.open('samples') },
    { name: 'Share by link or file', run: () => layout.open('share') },
    { name: 'Import a conversation, a pack or an audit trail', run: () => layout.open('import') },
    { name: 'Export a test', run: () => layout.open('export') },
    { name: 'Models: script, else stub', run: () => (reach.source = 'script') },
    { name: 'Models: automatic stub', run: () => (reach.source = 'auto') },
    { name: 'Models: answer by hand', run: () => (reach.source = 'manual') },
    { name: 'Models: a model of yours', run: () => (reach.source = 'live') },
    { name: 'Forget all faults', run: () => (reach.faults = []) },
    { name: 'Show or hide the configuration', run: () => (layout.configOpen = !layout.configOpen) },
    { name: `Turn ${singleKeys.on ? 'off' : 'on'} the keys b [ ] { }`, run: () => singleKeys.toggle() },
    { name: 'Undo changes of the pack', run: () => simulator.revert() },
  ];
  if (simulator.flow) anyway.push({ name: 'Show the graph, and the node at which the session stands', run: () => layout.showNode(...standsAt(turn)) });
  if (tree.canMove(1)) anyway.unshift({ name: 'Redo: forward to the branch that was shown after this one', keys: 'Alt →', run: () => tree.move(1) });
  if (tree.canMove(-1)) anyway.unshift({ name: 'Undo: back to the branch that was shown before', keys: 'Alt ←', run: () => tree.move(-1) });
  if (!turn) return anyway;
  const shown: Command[] = [
    { name: 'Why did this turn end so?', run: () => layout.inspect('why') },
    { name: 'What changed in this step?', run: () => layout.inspect('diff') },
    { name: 'Next step', ...single(']'), run: () => tree.lookAt(tree.place + 1) },
    { name: 'Previous step', ...single('['), run: () => tree.lookAt(tree.place - 1) },
    { name: 'Next change of the session', ...single('}'), run: () => tree.lookForChange(1) },
    { name: 'Previous change of the session', ...single('{'), run: () => tree.lookForChange(-1) },
    { name: `Run turn ${turn.number} again as a branch`, run: () => void simulator.again(turn, { reason: `turn ${turn.number} again` }) },
    { name: `Branch from here, with new answers`, ...single('b'), run: () => branchHere(simulator) },
  ];
  const rest = turn.like && followers(simulator, turn.like);
  if (rest && rest.length > 0 && turn === tree.head) {
    shown.push({ name: `Say here what was said after turn ${turn.number} before`, run: () => void simulator.continueAs(rest) });
  }
  const branches = tree.branches.filter((it) => it.tip !== tree.head);
  return [...shown, ...anyway, ...branches.map((it) => ({ name: `Show ${it.name}: ${it.reason || 'from the beginning'}`, run: () => tree.show(it.tip) }))];
}

/** The graph and the node at which a session stands after a turn. */
function standsAt(turn: Turn | undefined): [graph: string, node: string] {
  const { graph = '', node = '' } = stackOf(sessionOf(turn?.record)).at(-1) ?? {};
  return [graph, node];
}

/** The single key of a command, unless those are turned off. */
function single(keys: string): { keys?: string } {
  return singleKeys.on ? { keys } : {};
}

/** Runs the turn of the cursor again: what was asked before the cursor's step is answered as it was, all else anew. */
export function branchHere(simulator: Simulator): void {
  const { cursor } = simulator.tree;
  if (!cursor?.turn.record) return;
  const { turn, step } = cursor;
  const seq = step === undefined ? undefined : turn.record?.steps[step]?.seq;
  // What was asked at the very end of the step before belongs to that one.
  const until = seq === undefined ? turn.answered.length : turn.answered.filter((it) => it.seq <= seq).length;
  const where = step === undefined ? 'its end' : (turn.record?.steps[step]?.step ?? 'a step');
  void simulator.again(turn, { until, reason: `turn ${turn.number} from ${where}` });
}

/** The turns that came after a turn on the newest branch that it is on. */
function followers({ tree }: Simulator, turn: Turn): Turn[] {
  const branch = tree.branches.findLast((it) => it.tip.path.includes(turn));
  return branch?.tip.path.slice(turn.depth + 1) ?? [];
}

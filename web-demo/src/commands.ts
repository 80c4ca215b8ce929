import { samples } from './samples';
import type { Simulator } from './simulator.svelte';
import type { Turn } from './turn.svelte';
import { nextMessage, NEXT_DAY } from './view/chat/next-message.svelte';
import { AREAS, layout, type Area } from './view/layout.svelte';
import { singleKeys } from './view/single-keys.svelte';

/** An action in the command palette. */
export interface Command {
  name: string;
  keys?: string;
  run(): void;
}

const AREA_NAMES: Record<Area, string> = { chat: 'chat', timeline: 'timeline', inspector: 'inspector', config: 'configuration' };

/** Lists the commands that are available now. */
export function listCommands(simulator: Simulator): Command[] {
  const { tree, settings } = simulator;
  const turn = tree.cursor?.turn;
  const general: Command[] = [
    ...AREAS.map((it) => ({ name: `Go to the ${AREA_NAMES[it]}`, keys: 'F6', run: () => layout.focusArea(it) })),
    { name: simulator.isChain ? 'New run' : 'New conversation', run: () => (simulator.restart(nextMessage.startEvent), layout.focusArea('chat')) },
    { name: 'Reset the conversation with the next message', run: () => ((nextMessage.reset = true), layout.focusArea('chat')) },
    { name: 'Send the next message one day later', run: () => ((nextMessage.delayIndex = NEXT_DAY), layout.focusArea('chat')) },
    { name: 'Play pack', run: () => void simulator.playPack() },
    ...samples.map((it) => ({ name: `Open sample: ${it.title}`, run: () => void simulator.openSample(it.name) })),
    { name: 'Show all samples', run: () => layout.openDialog('samples') },
    { name: 'Share this session', run: () => layout.openDialog('share') },
    { name: 'Import a conversation, pack or audit trail', run: () => layout.openDialog('import') },
    { name: 'Export a test', run: () => layout.openDialog('export') },
    { name: 'MCP tools: list, approve and call', run: () => layout.openDialog('mcp') },
    { name: 'Models: script, then stub', run: () => (settings.source = 'script') },
    { name: 'Models: stub only', run: () => (settings.source = 'auto') },
    { name: 'Models: answer manually', run: () => (settings.source = 'manual') },
    { name: 'Models: your own model', run: () => (settings.source = 'live') },
    { name: 'Remove all faults', run: () => (settings.faults = []) },
    { name: 'Show or hide the configuration', run: () => (layout.configOpen = !layout.configOpen) },
    { name: `Turn ${singleKeys.enabled ? 'off' : 'on'} single-key shortcuts (b [ ] { })`, run: () => singleKeys.toggle() },
    { name: 'Revert all pack changes', run: () => simulator.revert() },
  ];
  if (simulator.isFlow) general.push({ name: 'Show the current node in the graph', run: () => void import('./flow/current-node').then((it) => layout.showNode(...it.currentNode(simulator.pack, turn))) });
  if (tree.canMove(1)) general.unshift({ name: 'Redo: go forward to the next branch', keys: 'Alt →', run: () => tree.move(1) });
  if (tree.canMove(-1)) general.unshift({ name: 'Undo: go back to the previous branch', keys: 'Alt ←', run: () => tree.move(-1) });
  if (!turn) return general;
  const turnCommands: Command[] = [
    { name: 'Why did this turn end this way?', run: () => layout.openInspector('why') },
    { name: 'What changed in this step?', run: () => layout.openInspector('diff') },
    { name: 'Next step', ...singleKey(']'), run: () => tree.goTo(tree.position + 1) },
    { name: 'Previous step', ...singleKey('['), run: () => tree.goTo(tree.position - 1) },
    { name: 'Next session change', ...singleKey('}'), run: () => tree.goToChange(1) },
    { name: 'Previous session change', ...singleKey('{'), run: () => tree.goToChange(-1) },
    { name: `Rerun turn ${turn.number} on a new branch`, run: () => void simulator.rerun(turn, { reason: `turn ${turn.number} again` }) },
    { name: 'Branch from here with new answers', ...singleKey('b'), run: () => branchFromCursor(simulator) },
  ];
  const rest = turn.original && turnsAfter(simulator, turn.original);
  if (rest && rest.length > 0 && turn === tree.head) {
    turnCommands.push({ name: `Replay the original turns after turn ${turn.number}`, run: () => void simulator.continueWith(rest) });
  }
  const branches = tree.branches.filter((it) => it.tip !== tree.head);
  return [...turnCommands, ...general, ...branches.map((it) => ({ name: `Show ${it.name}: ${it.reason || 'from the start'}`, run: () => tree.showBranch(it.tip) }))];
}

/** The single-key shortcut of a command; none while the shortcuts are off. */
function singleKey(keys: string): { keys?: string } {
  return singleKeys.enabled ? { keys } : {};
}

/** Reruns the selected turn: answers before the selected step are reused, later ones are new. */
export function branchFromCursor(simulator: Simulator): void {
  const { cursor } = simulator.tree;
  if (!cursor?.turn.record) return;
  const { turn, step } = cursor;
  const seq = step === undefined ? undefined : turn.record?.steps[step]?.seq;
  // A request at the very end of the previous step belongs to that step.
  const until = seq === undefined ? turn.exchanges.length : turn.exchanges.filter((it) => it.seq <= seq).length;
  const where = step === undefined ? 'the end' : (turn.record?.steps[step]?.step ?? 'a step');
  void simulator.rerun(turn, { until, reason: `turn ${turn.number} from ${where}` });
}

/** The turns after a turn on the newest branch that contains it. */
function turnsAfter({ tree }: Simulator, turn: Turn): Turn[] {
  const branch = tree.branches.findLast((it) => it.tip.path.includes(turn));
  return branch?.tip.path.slice(turn.depth + 1) ?? [];
}

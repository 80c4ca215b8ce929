import type { Turn } from '../turn.svelte';
import { currentFrames } from './flow-path';
import { parseDocument } from './graph';

/** The graph and node of a session after a turn; of nested programs, those of the innermost. */
export function currentNode(pack: string, turn: Turn | undefined): [graph: string, node: string] {
  const { graph = '', node = '' } = currentFrames(turn, undefined, parseDocument(pack)).at(-1) ?? {};
  return [graph, node];
}

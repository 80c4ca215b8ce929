import { named } from './run/name';
import type { Try } from './samples';
import type { Simulator } from './simulator.svelte';

/** Tries something on the branch that is shown; tells whether there was something to try it on. */
export async function tryOut(simulator: Simulator, it: Try): Promise<boolean> {
  if ('row' in it || 'node' in it) return false;
  const turn = simulator.tree.path[it.turn - 1];
  if (!turn) return false;
  if ('say' in it) {
    await simulator.again(turn, { typed: { message: it.say }, reason: `turn ${it.turn} says “${it.say}”` });
    return true;
  }
  const place = turn.answered.findIndex(({ effect }) => named(effect) === it.on || effect.request.kind === it.on);
  if (place < 0) return false;
  await simulator.again(turn, { edits: [{ place, decision: { fault: { name: it.fault } } }], reason: it.title });
  return true;
}

import { effectName } from './run/effect-name';
import type { Experiment } from './samples';
import type { Simulator } from './simulator.svelte';

/** Runs an experiment on the shown branch; returns whether it was applicable. */
export async function runExperiment(simulator: Simulator, it: Experiment): Promise<boolean> {
  if ('row' in it || 'node' in it) return false;
  const turn = simulator.tree.path[it.turn - 1];
  if (!turn) return false;
  if ('say' in it) {
    await simulator.rerun(turn, { typed: { message: it.say }, reason: `turn ${it.turn}: “${it.say}”` });
    return true;
  }
  if ('event' in it) {
    await simulator.rerun(turn, { typed: { message: '', event: it.event }, reason: it.title });
    return true;
  }
  const place = turn.exchanges.findIndex(({ effect }) => effectName(effect) === it.on || effect.request.kind === it.on);
  if (place < 0) return false;
  await simulator.rerun(turn, { edits: [{ place, decision: { fault: { name: it.fault } } }], reason: it.title });
  return true;
}

import { title } from '../exchange';
import { named } from '../run/name';
import { FAULTS, faultsFor, type FaultName } from '../run/fault';
import type { Decision, FaultRule } from '../protocol';
import type { Other } from '../simulator.svelte';
import type { Answered } from '../session/saved';
import type { Effect } from '../types';
import { stepsOf, type Told } from './items';
import { stepName } from './step-name';

/** Faults of one group, as people choose among them. */
export interface FaultGroup {
  title: string;
  faults: { name: FaultName; title: string }[];
}

/** Lists what can go wrong with an effect, by groups. */
export function faultGroups(effect: Effect): FaultGroup[] {
  const out: FaultGroup[] = [];
  for (const name of faultsFor(effect)) {
    const { title: told, group } = FAULTS[name];
    const known = out.find((it) => it.title === group);
    if (known) known.faults.push({ name, title: told });
    else out.push({ title: group, faults: [{ name, title: told }] });
  }
  return out;
}

/** Runs a turn again with an effect that fails. */
export function failing(turn: Told, place: number, fault: FaultName): Other {
  const decision: Decision = { fault: { name: fault } };
  return { edits: [{ place, decision }], reason: `${nameAt(turn, place)}: ${FAULTS[fault].title}` };
}

/** Runs a turn again with another answer. */
export function answering(turn: Told, place: number, outcome: string): Other {
  return { edits: [{ place, decision: { outcome, origin: 'edited' } }], reason: `${nameAt(turn, place)} answers otherwise` };
}

/** Runs a turn again with new answers from an effect on. */
export function fromEffect(turn: Told, place: number): Other {
  return { until: place, reason: `turn ${turn.number} from ${nameAt(turn, place)}` };
}

/** Runs a turn again with new answers from a step on: what was asked before it began is answered as it was. */
export function fromStep(turn: Told, step: number): Other {
  const info = stepsOf(turn)[step];
  const until = info ? turn.answered.filter((it) => it.seq <= info.seq).length : turn.answered.length;
  return { until, reason: `turn ${turn.number} from ${stepName(info?.step ?? '')}` };
}

/** A rule that lets an effect fail in every turn. */
export function failingAlways(effect: Effect, fault: FaultName): FaultRule {
  return { on: named(effect), nth: 0, fault: { name: fault } };
}

/**
 * Finds the effect that an answer comes from, in the run that the turn runs again: the one that asked for the
 * same thing as often.
 */
export function comparable(turn: Told & { like?: Told | undefined }, place: number): Answered | undefined {
  const name = nameOf(turn, place);
  const nth = turn.answered.slice(0, place).filter((it) => title(it.effect) === name).length;
  return turn.like?.answered.filter((it) => title(it.effect) === name)[nth];
}

function nameAt(turn: Told, place: number): string {
  const effect = turn.answered[place]?.effect;
  return effect ? named(effect) : '';
}

function nameOf(turn: Told, place: number): string {
  const effect = turn.answered[place]?.effect;
  return effect ? title(effect) : '';
}

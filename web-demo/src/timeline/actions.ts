import { title } from '../exchange';
import { named } from '../run/name';
import { FAULTS, faultsFor, faultTitle, variants, type Fault } from '../run/fault';
import type { Decision, FaultRule } from '../protocol';
import type { Other } from '../simulator.svelte';
import type { Answered } from '../session/saved';
import type { Effect } from '../types';
import { stepsOf, type Told } from './items';
import { stepName } from './step-name';

/** Faults of one group, as people choose among them. */
export interface FaultGroup {
  title: string;
  faults: { fault: Fault; title: string }[];
}

/** Lists what can go wrong with an effect, by groups. */
export function faultGroups(effect: Effect): FaultGroup[] {
  const out: FaultGroup[] = [];
  for (const name of faultsFor(effect)) {
    const { group } = FAULTS[name];
    const faults = variants(name).map((fault) => ({ fault, title: faultTitle(fault) }));
    const known = out.find((it) => it.title === group);
    if (known) known.faults.push(...faults);
    else out.push({ title: group, faults });
  }
  return out;
}

/** Lists what can stand in the place of an answer that is waited for: neither the turn nor the process ends by it. */
export function answerFaults(effect: Effect): FaultGroup[] {
  return faultGroups(effect).filter((it) => it.title !== FAULTS.crash.group);
}

/** Runs a turn again with an effect that fails. */
export function failing(turn: Told, place: number, fault: Fault): Other {
  const decision: Decision = { fault };
  return { edits: [{ place, decision }], reason: `${nameAt(turn, place)}: ${faultTitle(fault)}` };
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

/** A rule that lets an effect fail in every turn: each time that it is asked for, or the nth time alone. */
export function failingAlways(effect: Effect, fault: Fault, nth = 0): FaultRule {
  return { on: named(effect), nth, fault };
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

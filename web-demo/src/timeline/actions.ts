import { effectTitle } from '../exchange';
import { effectName } from '../run/effect-name';
import { FAULTS, faultsFor, faultTitle, faultVariants, type Fault } from '../run/fault';
import type { Decision, FaultRule } from '../protocol';
import type { RerunOptions } from '../simulator.svelte';
import type { AnsweredEffect } from '../session/turn-data';
import type { Effect } from '../types';
import { turnSteps, type TimelineTurn } from './items';
import { formatStepName } from './step-name';

/** A group of faults in a menu. */
export interface FaultGroup {
  title: string;
  faults: { fault: Fault; title: string }[];
}

/** Lists the faults of an effect by group. */
export function groupFaults(effect: Effect): FaultGroup[] {
  const out: FaultGroup[] = [];
  for (const name of faultsFor(effect)) {
    const { group } = FAULTS[name];
    const faults = faultVariants(name).map((fault) => ({ fault, title: faultTitle(fault) }));
    const known = out.find((it) => it.title === group);
    if (known) known.faults.push(...faults);
    else out.push({ title: group, faults });
  }
  return out;
}

/** Lists the faults that can replace a pending answer; they end neither the turn nor the process. */
export function groupReplyFaults(effect: Effect): FaultGroup[] {
  return groupFaults(effect).filter((it) => it.title !== FAULTS.crash.group);
}

/** Reruns a turn with a fault on one effect. */
export function rerunWithFault(turn: TimelineTurn, place: number, fault: Fault): RerunOptions {
  const decision: Decision = { fault };
  return { edits: [{ place, decision }], reason: `${effectNameAt(turn, place)}: ${faultTitle(fault)}` };
}

/** Reruns a turn with another answer. */
export function rerunWithAnswer(turn: TimelineTurn, place: number, outcome: string): RerunOptions {
  return { edits: [{ place, decision: { outcome, origin: 'edited' } }], reason: `${effectNameAt(turn, place)} with another answer` };
}

/** Reruns a turn with new answers from an effect on. */
export function rerunFromEffect(turn: TimelineTurn, place: number): RerunOptions {
  return { until: place, reason: `turn ${turn.number} from ${effectNameAt(turn, place)}` };
}

/** Reruns a turn with new answers from a step on; earlier answers are reused. */
export function rerunFromStep(turn: TimelineTurn, step: number): RerunOptions {
  const info = turnSteps(turn)[step];
  const until = info ? turn.exchanges.filter((it) => it.seq <= info.seq).length : turn.exchanges.length;
  return { until, reason: `turn ${turn.number} from ${formatStepName(info?.step ?? '')}` };
}

/** Creates a rule that fails an effect in every turn: on every request, or on the nth only. */
export function createFaultRule(effect: Effect, fault: Fault, nth = 0): FaultRule {
  return { on: effectName(effect), nth, fault };
}

/**
 * Finds the corresponding effect in the original run: the same title and occurrence.
 */
export function findComparable(turn: TimelineTurn & { original?: TimelineTurn | undefined }, place: number): AnsweredEffect | undefined {
  const name = effectTitleAt(turn, place);
  const nth = turn.exchanges.slice(0, place).filter((it) => effectTitle(it.effect) === name).length;
  return turn.original?.exchanges.filter((it) => effectTitle(it.effect) === name)[nth];
}

/** Returns which of several effects with the same name one is, such as ` #2`; empty for an effect that is the only one. */
export function effectNumber({ exchanges }: Pick<TimelineTurn, 'exchanges'>, place: number): string {
  const effect = exchanges[place]?.effect;
  const places = exchanges.flatMap((it, index) => (effect && effectName(it.effect) === effectName(effect) ? [index] : []));
  return places.length > 1 ? ` #${places.indexOf(place) + 1}` : '';
}

function effectNameAt(turn: TimelineTurn, place: number): string {
  const effect = turn.exchanges[place]?.effect;
  return effect ? `${effectName(effect)}${effectNumber(turn, place)}` : '';
}

function effectTitleAt(turn: TimelineTurn, place: number): string {
  const effect = turn.exchanges[place]?.effect;
  return effect ? effectTitle(effect) : '';
}

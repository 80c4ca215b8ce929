import type { StepInfo, Why } from '../types';

/** Finds the step that a reason belongs to: the last run of it that had begun. */
export function stepOf(steps: StepInfo[], { seq, step }: Pick<Why, 'seq' | 'step'>): number {
  const named = steps.findLastIndex((it) => it.step === step && it.seq <= seq);
  return named >= 0 ? named : stepAt(steps, seq);
}

/** Finds the step in which a notice was said. */
export function stepAt(steps: StepInfo[], seq: number): number {
  return steps.findLastIndex((it) => it.seq <= seq);
}

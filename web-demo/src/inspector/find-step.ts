import type { StepInfo, Explanation } from '../types';

/** Finds the step that a reason belongs to: the last run of it that had begun. */
export function findStep(steps: StepInfo[], { seq, step }: Pick<Explanation, 'seq' | 'step'>): number {
  const named = steps.findLastIndex((it) => it.step === step && it.seq <= seq);
  return named >= 0 ? named : findStepAt(steps, seq);
}

/** Finds the step in which a notice was said. */
export function findStepAt(steps: StepInfo[], seq: number): number {
  return steps.findLastIndex((it) => it.seq <= seq);
}

import type { StepInfo, Explanation } from '../types';

/** Finds the step of an explanation: its latest run that had started. */
export function findStep(steps: StepInfo[], { seq, step }: Pick<Explanation, 'seq' | 'step'>): number {
  const named = steps.findLastIndex((it) => it.step === step && it.seq <= seq);
  return named >= 0 ? named : findStepAt(steps, seq);
}

/** Finds the step that published a notice. */
export function findStepAt(steps: StepInfo[], seq: number): number {
  return steps.findLastIndex((it) => it.seq <= seq);
}

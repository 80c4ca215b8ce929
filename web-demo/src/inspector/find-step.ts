import type { StepInfo, Explanation } from '../types';

/** What a flow decides before it runs a node: which handler takes the event, and which intent the message means. */
const PHASES = new Set(['dispatch', 'match']);

/** Finds the step of an explanation: its latest run that had started. */
export function findStep(steps: StepInfo[], { seq, step }: Pick<Explanation, 'seq' | 'step'>): number {
  // The node that runs next may begin at the same notice.
  if (PHASES.has(step)) return findStepAt(steps, seq - 1);
  const named = steps.findLastIndex((it) => it.step === step && it.seq <= seq);
  return named >= 0 ? named : findStepAt(steps, seq);
}

/** Finds the step that published a notice. */
export function findStepAt(steps: StepInfo[], seq: number): number {
  return steps.findLastIndex((it) => it.seq <= seq);
}

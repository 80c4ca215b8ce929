/** The steps of a chain with what a run has done with them. */
import type { Chain, ChainStep } from './document';
import { listAttempts, type Run, type StepRun, type StepStatus } from './run';

/** A step of a run. */
export interface StepState {
  step: ChainStep;
  path: string;
  /** The status of its last attempt; `pending` before the first one. */
  status: StepStatus | 'pending';
  /** Its attempts, first to last. */
  attempts: StepRun[];
  /** Whether the run is there. */
  isCurrent: boolean;
  branches: BranchState[];
}

/** A branch that follows a step. */
export interface BranchState {
  id: string;
  name: string;
  /** What leads to it. */
  label: string;
  /** Whether the run has entered it. */
  isTaken: boolean;
  steps: StepState[];
}

/** Branches are nested at most four deep. */
const MAX_DEPTH = 4;

/** Lays out all steps of a chain, with their branches nested. */
export function layOutSteps(chain: Chain, run: Run | undefined): StepState[] {
  const attempts = listAttempts(run);
  const layOut = (steps: ChainStep[], prefix: string, depth: number): StepState[] =>
    steps.map((step) => {
      const path = prefix + step.id;
      const own = attempts.filter((it) => it.path === path);
      return { step, path, status: own.at(-1)?.status ?? 'pending', attempts: own, isCurrent: run?.cursor === path, branches: depth < MAX_DEPTH ? exits(step, path, depth) : [] };
    });
  const exits = (step: ChainStep, path: string, depth: number): BranchState[] => {
    const all = [...step.exits, ...(step.errorBranch ? [{ branch: step.errorBranch, label: 'on error' }] : [])];
    const unique = [...new Map(all.map((it) => [it.branch, it])).values()];
    return unique.flatMap(({ branch: id, label }) => {
      const branch = chain.branches.find((it) => it.id === id);
      const prefix = `${path}/${id}/`;
      return branch ? [{ id, name: branch.name, label, isTaken: attempts.some((it) => it.path.startsWith(prefix)), steps: layOut(branch.steps, prefix, depth + 1) }] : [];
    });
  };
  return layOut(chain.steps, '', 0);
}

/** Finds a step by its id. */
export function findStep(chain: Chain | undefined, id: string): ChainStep | undefined {
  return [...(chain?.steps ?? []), ...(chain?.branches.flatMap((it) => it.steps) ?? [])].find((it) => it.id === id);
}

/** How many of the steps that the run has met are done, and how many it has at least: those of branches only when they are taken. */
export function countSteps(steps: StepState[]): { done: number; all: number } {
  const sum = { done: 0, all: 0 };
  for (const { status, branches } of steps) {
    sum.all += 1;
    if (status === 'succeeded' || status === 'skipped' || status === 'failed' || status === 'cancelled') sum.done += 1;
    for (const branch of branches.filter((it) => it.isTaken)) {
      const inside = countSteps(branch.steps);
      [sum.done, sum.all] = [sum.done + inside.done, sum.all + inside.all];
    }
  }
  return sum;
}

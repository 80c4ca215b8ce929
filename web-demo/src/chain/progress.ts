/** What a turn has done with the steps of a run. */
import type { JsonObject, Notice } from '../types';
import { listAttempts, type Run, type StepRun } from './run';

/** An attempt that a turn has begun, continued or ended. */
export interface StepProgress {
  attempt: StepRun;
  /** How many branches it is inside of. */
  depth: number;
  /** The wait before the next attempt, in milliseconds. */
  retryMs: number | undefined;
  /** The branch that follows. */
  branch: string | undefined;
}

/** Lists the attempts of a turn in order, as they are after it; what it only repeats is left out. */
export function turnProgress(notices: Notice[], before: Run | undefined, after: Run | undefined): StepProgress[] {
  const attempts = new Map(listAttempts(after).map((it) => [key(it.path, it.attempt), it]));
  const known = new Map(listAttempts(before).map((it) => [key(it.path, it.attempt), it.status]));
  const out = new Map<string, StepProgress>();
  for (const notice of notices) {
    if (notice.kind !== 'audit') continue;
    const { path, attempt, delay_ms: delayMs, branch } = notice.payload as JsonObject;
    if (typeof path !== 'string') continue;
    const last = [...out.values()].findLast((it) => it.attempt.path === path);
    if (notice.stage === 'chain.step') {
      const found = attempts.get(key(path, Number(attempt)));
      if (found && !out.has(key(path, found.attempt))) out.set(key(path, found.attempt), { attempt: found, depth: (path.split('/').length - 1) / 2, retryMs: undefined, branch: undefined });
    } else if (notice.stage === 'chain.retry' && last && typeof delayMs === 'number') last.retryMs = delayMs;
    else if (notice.stage === 'decide.match' && last && typeof branch === 'string') last.branch = branch;
  }
  return [...out.values()].filter(({ attempt }) => known.get(key(attempt.path, attempt.attempt)) !== attempt.status);
}

function key(path: string, attempt: number): string {
  return `${attempt} ${path}`;
}

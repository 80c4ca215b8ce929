import type { Recorded } from '../protocol';
import type { Answered } from '../session/saved';

/** The answers of a turn, for the run that uses them again. */
export function recorded(answered: Answered[]): Recorded[] {
  return answered.map(({ raw, completion, delayMs, origin }) => ({
    request: raw?.request ?? null,
    outcome: raw?.outcome ?? JSON.stringify(completion.outcome),
    took: delayMs,
    origin,
  }));
}

import type { RecordedAnswer } from '../protocol';
import type { AnsweredEffect } from '../session/turn-data';

/** Converts the exchanges of a turn to answers for another run. */
export function toRecordedAnswers(exchanges: AnsweredEffect[]): RecordedAnswer[] {
  return exchanges.map(({ raw, completion, delayMs, origin }) => ({
    request: raw?.request ?? null,
    outcome: raw?.outcome ?? JSON.stringify(completion.outcome),
    delayMs: delayMs,
    origin,
  }));
}

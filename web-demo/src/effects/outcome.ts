import type { Effect, JsonObject } from '../types';

/** Why an effect failed, in the words of the core. */
export type ErrorKind = 'timeout' | 'unavailable' | 'refused' | 'invalid' | 'not_found' | 'denied' | 'limited' | 'unsupported';

/** A failed effect, as the core reads it. */
export interface EffectError {
  kind: ErrorKind;
  message: string;
  status?: number;
  retry_after_ms?: number;
  /** What it was more exactly. */
  detail?: 'blocked_target' | 'response_too_large';
}

/** A reply or an error. */
export type Answer = { ok: JsonObject & { kind: string } } | { error: EffectError };

/** Puts an answer into the form in which the engine gives its own. */
export function completed(effect: Effect, outcome: Answer, at: number): string {
  return JSON.stringify({ completion: { id: effect.id, at, outcome }, delay_ms: 0 });
}

import type { Answer, Effect, JsonObject } from '../types';

/** Why an effect failed; the kinds of the core. */
export type ErrorKind = 'timeout' | 'unavailable' | 'refused' | 'invalid' | 'not_found' | 'denied' | 'limited' | 'unsupported';

/** The error of an effect, in the engine's form. */
export interface EffectError {
  kind: ErrorKind;
  message: string;
  status?: number;
  retry_after_ms?: number;
  /** A more specific reason. */
  detail?: 'blocked_target' | 'response_too_large';
}

/** A reply or an error. */
export type EffectOutcome = { ok: JsonObject & { kind: string } } | { error: EffectError };

/** Answers an effect with an outcome, in the form of `Engine.answer`. */
export function toAnswer(effect: Effect, outcome: EffectOutcome, at: number): Answer {
  return { completion: JSON.stringify({ id: effect.id, at, outcome }), outcome: JSON.stringify(outcome), delayMs: 0 };
}

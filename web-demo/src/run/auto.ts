import type { Effect } from '../types';

/** What the automatic model says; nothing when the effect is no call of a model. */
export function auto(effect: Effect, _pack: string): string | null {
  return effect.request.kind === 'llm' ? '' : null;
}

/** A text to begin with that fits what is asked for. */
export function skeleton(_effect: Effect): string {
  return '{}';
}

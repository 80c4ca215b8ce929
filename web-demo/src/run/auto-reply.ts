import { skeleton as skeletonOf, stub, type LlmRequestJson, type Tables } from '../answer/stub';
import type { Effect } from '../types';

let lately: { pack: string; tables: Tables } | undefined;

/** What the automatic model says; nothing when the effect is no call of a model. */
export function auto(effect: Effect, pack: string): string | null {
  if (effect.request.kind !== 'llm') return null;
  if (lately?.pack !== pack) lately = { pack, tables: (JSON.parse(pack) as { tables?: Tables }).tables ?? {} };
  return stub(effect.request as unknown as LlmRequestJson, lately.tables).text;
}

/** A text to begin with that fits what is asked for. */
export function skeleton(effect: Effect): string {
  return effect.request.kind === 'llm' ? skeletonOf(effect.request as unknown as LlmRequestJson) : '{}';
}

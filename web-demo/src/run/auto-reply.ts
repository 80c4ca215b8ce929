import { skeleton as skeletonOf, answerRequest, type LlmRequestJson, type Tables } from '../answer/auto-model';
import type { Effect } from '../types';
import { effectName } from './effect-name';

let latestPack: { pack: string; tables: Tables } | undefined;

/** Returns the reply of the automatic model; null for other effects. */
export function autoReply(effect: Effect, pack: string): string | null {
  if (effect.request.kind !== 'llm') return null;
  if (latestPack?.pack !== pack) latestPack = { pack, tables: (JSON.parse(pack) as { tables?: Tables }).tables ?? {} };
  return answerRequest(effect.request as unknown as LlmRequestJson, latestPack.tables).text;
}

/** Returns an initial text for a manual answer. */
export function skeleton(effect: Effect): string {
  if (effect.request.kind === 'llm') return skeletonOf(effect.request as unknown as LlmRequestJson);
  if (effect.request.kind === 'knowledge') return '{"stats":{"chunks":0,"total_length":0,"frequencies":[]},"keyword":[],"passages":[]}';
  return effectName(effect) === 'handoff request' ? '{"state":"queued","ticket":"T-1","position":1,"eta_ms":300000}' : '{}';
}

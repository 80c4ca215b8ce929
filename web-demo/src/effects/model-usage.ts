import { plural } from '../plural';
import type { AnsweredEffect } from '../session/turn-data';
import { tokenUsage } from '../token-usage';

/** Usage of live model calls. */
export interface ModelUsage {
  calls: number;
  /** Of calls whose provider reported usage. */
  inputTokens: number;
  outputTokens: number;
}

/** Adds the answer of a live model call; failed calls count as well. */
export function addUsage(usage: ModelUsage, { effect, origin, completion }: Pick<AnsweredEffect, 'effect' | 'origin' | 'completion'>): ModelUsage {
  if (origin !== 'live' || effect.request.kind !== 'llm') return usage;
  const { input, output } = tokenUsage(completion);
  return { calls: usage.calls + 1, inputTokens: usage.inputTokens + input, outputTokens: usage.outputTokens + output };
}

/** Formats the usage. */
export function usageText({ calls, inputTokens, outputTokens }: ModelUsage, limit: number): string {
  const tokens = inputTokens + outputTokens > 0 ? `, ${inputTokens} + ${outputTokens} tokens` : '';
  return `${calls} of ${plural(limit, 'call')}${tokens}`;
}

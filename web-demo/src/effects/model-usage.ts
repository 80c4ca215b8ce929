import type { Answered } from '../session/saved';
import { tokensOf } from '../tokens';

/** What calls of models have come to. */
export interface Spent {
  calls: number;
  /** Of those calls whose provider told. */
  inputTokens: number;
  outputTokens: number;
}

/** Adds an answer, when it came from a model outside of the page; a call that failed is one as well. */
export function spend(spent: Spent, { effect, origin, completion }: Pick<Answered, 'effect' | 'origin' | 'completion'>): Spent {
  if (origin !== 'live' || effect.request.kind !== 'llm') return spent;
  const { input, output } = tokensOf(completion);
  return { calls: spent.calls + 1, inputTokens: spent.inputTokens + input, outputTokens: spent.outputTokens + output };
}

/** Says what has been spent. */
export function spentText({ calls, inputTokens, outputTokens }: Spent, limit: number): string {
  const tokens = inputTokens + outputTokens > 0 ? `, ${inputTokens} + ${outputTokens} tokens` : '';
  return `${calls} of ${limit} calls${tokens}`;
}

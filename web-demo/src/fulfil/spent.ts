import type { Answered } from '../session/saved';

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
  const usage = 'ok' in completion.outcome ? completion.outcome.ok['usage'] : undefined;
  const told = (name: string) => {
    const count = typeof usage === 'object' && usage !== null && !Array.isArray(usage) ? usage[name] : undefined;
    return typeof count === 'number' ? count : 0;
  };
  return { calls: spent.calls + 1, inputTokens: spent.inputTokens + told('input_tokens'), outputTokens: spent.outputTokens + told('output_tokens') };
}

/** Says what has been spent. */
export function spentText({ calls, inputTokens, outputTokens }: Spent, limit: number): string {
  const tokens = inputTokens + outputTokens > 0 ? `, ${inputTokens} + ${outputTokens} tokens` : '';
  return `${calls} of ${limit} calls${tokens}`;
}

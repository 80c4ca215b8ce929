import type { Completion } from './types';

/** Tells how many tokens a call of a model read and wrote; 0 where its provider does not say. */
export function tokensOf({ outcome }: Pick<Completion, 'outcome'>): { input: number; output: number } {
  const usage = 'ok' in outcome ? outcome.ok['usage'] : undefined;
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return { input: 0, output: 0 };
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  return { input: count('input_tokens'), output: count('output_tokens') };
}

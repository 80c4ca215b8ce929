import type { Completion } from './types';

/** Returns the input and output tokens of a model call; 0 if its provider does not report them. */
export function tokenUsage({ outcome }: Pick<Completion, 'outcome'>): { input: number; output: number } {
  const usage = 'ok' in outcome ? outcome.ok['usage'] : undefined;
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return { input: 0, output: 0 };
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  return { input: count('input_tokens'), output: count('output_tokens') };
}

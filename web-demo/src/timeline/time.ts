import type { Json } from '../types';
import type { Item, Items } from './items';

/** Where an effect stands in the time of its turn, in hundredths; nothing when no time passed. */
export function stretch({ answered }: Item, { begin, took }: Items): { from: number; width: number } | undefined {
  if (!answered || took <= 0 || answered.delayMs <= 0) return undefined;
  const from = ((answered.completion.at - answered.delayMs - begin) / took) * 100;
  return { from: Math.max(0, from), width: Math.min(100, (answered.delayMs / took) * 100) };
}

/** Says how many tokens a call took, where its provider told. */
export function tokensOf({ answered }: Pick<Item, 'answered'>): string {
  const outcome = answered?.completion.outcome;
  const usage = outcome && 'ok' in outcome ? outcome.ok['usage'] : undefined;
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return '';
  const count = (it: Json | undefined) => (typeof it === 'number' ? it : 0);
  return `${count(usage['input_tokens'])} + ${count(usage['output_tokens'])} tokens`;
}

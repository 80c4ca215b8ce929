import type { Json } from '../types';
import type { TimelineItem, TurnItems } from './items';

/** Start and width of an effect within the time of its turn, in percent; `undefined` when it took no time. */
export function timeSpan({ exchange }: TimelineItem, { startedAt, durationMs }: TurnItems): { from: number; width: number } | undefined {
  if (!exchange || durationMs <= 0 || exchange.delayMs <= 0) return undefined;
  const from = ((exchange.completion.at - exchange.delayMs - startedAt) / durationMs) * 100;
  return { from: Math.max(0, from), width: Math.min(100, (exchange.delayMs / durationMs) * 100) };
}

/** Formats the token usage of a call, if its provider reported it. */
export function tokensText({ exchange }: Pick<TimelineItem, 'exchange'>): string {
  const outcome = exchange?.completion.outcome;
  const usage = outcome && 'ok' in outcome ? outcome.ok['usage'] : undefined;
  if (typeof usage !== 'object' || usage === null || Array.isArray(usage)) return '';
  const count = (it: Json | undefined) => (typeof it === 'number' ? it : 0);
  return `${count(usage['input_tokens'])} + ${count(usage['output_tokens'])} tokens`;
}

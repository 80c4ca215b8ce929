import type { Origin } from '../session/turn-data';
import type { TimelineItem } from './items';

/** The outcomes offered as filters, in order. */
export const OUTCOMES = ['failed', 'replaced', 'waiting'] as const;

/** An outcome offered as a filter. */
export type OutcomeFilter = (typeof OUTCOMES)[number];

/** The label of each outcome. */
export const OUTCOME_LABELS: Record<OutcomeFilter, string> = {
  failed: 'Failed',
  replaced: 'Answer replaced',
  waiting: 'Waiting for answer',
};

/** Origins of answers that replace the expected one. */
const REPLACED_ORIGINS: Origin[] = ['edited', 'fault', 'stale'];

/** Whether an item has one of the outcomes; every item matches an empty set. */
export function matchesOutcome({ tone, effect, exchange }: TimelineItem, outcomes: ReadonlySet<OutcomeFilter> | undefined): boolean {
  if (!outcomes || outcomes.size === 0) return true;
  if (tone === 'error' && outcomes.has('failed')) return true;
  if (exchange) return outcomes.has('replaced') && REPLACED_ORIGINS.includes(exchange.origin);
  return effect !== undefined && outcomes.has('waiting');
}

import type { Origin } from '../session/turn-data';
import type { TimelineItem } from './items';

/** What came of something, as people filter by it, in the order of the chips. */
export const OUTCOMES = ['failed', 'otherwise', 'waiting'] as const;

/** One of them. */
export type OutcomeFilter = (typeof OUTCOMES)[number];

/** The words for each of them. */
export const OUTCOME_LABELS: Record<OutcomeFilter, string> = {
  failed: 'Failed',
  otherwise: 'Answered otherwise',
  waiting: 'Still waiting',
};

/** Answers that somebody put in the place of the ones that would have come. */
const CHANGED_ORIGINS: Origin[] = ['edited', 'fault', 'stale'];

/** Whether one of these came of it; everything passes where none is asked for. */
export function matchesOutcome({ tone, effect, exchange }: TimelineItem, outcomes: ReadonlySet<OutcomeFilter> | undefined): boolean {
  if (!outcomes || outcomes.size === 0) return true;
  if (tone === 'bad' && outcomes.has('failed')) return true;
  if (exchange) return outcomes.has('otherwise') && CHANGED_ORIGINS.includes(exchange.origin);
  return effect !== undefined && outcomes.has('waiting');
}

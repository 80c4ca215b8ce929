import type { Density } from '../../timeline/rows';

/** A view of the timeline: rows at some density, lanes over time, or raw JSON lines. */
export type TimelineView = Density | 'lanes' | 'raw';

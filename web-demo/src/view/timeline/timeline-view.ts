import type { Density } from '../../timeline/rows';

/** How the timeline is shown: as rows of some density, as lanes over time, or as what the engine said. */
export type TimelineView = Density | 'lanes' | 'raw';

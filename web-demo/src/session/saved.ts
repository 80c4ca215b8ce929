import type { Exchange, Notice, Outcome } from '../types';

/** Where an answer came from. */
export type Origin = 'script' | 'auto' | 'manual' | 'live' | 'reused' | 'stale' | 'fault' | 'edited' | 'recorded';

/** What a person said, with the clock and the seed of its turn. */
export interface Said {
  /** The label, as in talks: `main`, `b`, … */
  conversation: string;
  conversationId: string;
  message: string;
  /** JSON text as it was typed, empty for none. */
  inputParams: string;
  reset: boolean;
  at: number;
  seed: number;
}

/** An answered effect of a turn. */
export interface Answered extends Exchange {
  origin: Origin;
}

/** A finished turn as exports need it. */
export interface Played {
  said: Said;
  answered: Answered[];
  outcome: Outcome;
  notices: Notice[];
}

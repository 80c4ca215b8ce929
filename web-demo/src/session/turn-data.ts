import type { Exchange, Notice, Outcome } from '../types';

/** Where the answer to an effect came from. */
export type Origin = 'script' | 'auto' | 'manual' | 'live' | 'reused' | 'stale' | 'fault' | 'edited' | 'recorded';

/** What a person said, with the clock and seed of its turn. */
export interface Said {
  /** The label of its conversation, as in talks. */
  conversation: string;
  conversationId: string;
  message: string;
  /** JSON text as it was typed; empty for none. */
  inputParams: string;
  reset: boolean;
  /** Milliseconds since 1970, by the conversation's own clock. */
  at: number;
  seed: number;
  /** What happens to a session of a flow, as JSON text, in place of the message. */
  event?: string;
  /** All of it as a pack spells it, which is sent as it stands. */
  text?: string;
}

/** An answered effect of a turn. */
export interface Answered extends Exchange {
  origin: Origin;
  /** The number of the next notice when it was asked for: its place in the turn. */
  seq: number;
  /** Request and outcome as the engine spells them: numbers such as `1.0` stay as they are. */
  raw?: { request: string; outcome: string };
}

/** A finished turn as exports need it. */
export interface Played {
  said: Said;
  answered: Answered[];
  outcome: Outcome;
  notices: Notice[];
}

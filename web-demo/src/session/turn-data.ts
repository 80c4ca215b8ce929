import type { Exchange, Notice, Outcome } from '../types';

/** The source of the answer to an effect. */
export type Origin = 'script' | 'auto' | 'manual' | 'live' | 'reused' | 'stale' | 'fault' | 'edited' | 'recorded';

/** The input of a turn, with its clock and seed. */
export interface UserInput {
  /** Label of the conversation, as in talks. */
  conversation: string;
  conversationId: string;
  message: string;
  /** JSON text as typed; empty for none. */
  inputParams: string;
  reset: boolean;
  /** Milliseconds since 1970, on the conversation's clock. */
  at: number;
  seed: number;
  /** The event of a flow session, as JSON text, instead of the message. */
  event?: string;
  /** The whole input as the pack spells it, sent unchanged. */
  text?: string;
}

/** An answered effect of a turn. */
export interface AnsweredEffect extends Exchange {
  origin: Origin;
  /** Number of the next notice at the time of the request: its position in the turn. */
  seq: number;
  /** Request and outcome as the engine spells them, so that `1.0` does not become `1`. */
  raw?: { request: string; outcome: string };
}

/** A finished turn, for exports. */
export interface FinishedTurn {
  input: UserInput;
  exchanges: AnsweredEffect[];
  outcome: Outcome;
  notices: Notice[];
}

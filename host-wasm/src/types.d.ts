/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** An issue of a pack. */
export interface Issue {
  severity: 'error' | 'warning' | 'info';
  /** The place, such as `ce_rule[3].match_pattern`, or a JSON pointer such as `/graphs/0/nodes/2`. */
  path: string;
  /** The check, such as `compile` or `G001`. */
  rule: string;
  reason: string;
  /** What to do. */
  hint: string;
  /** The index of the document in the pack, and its graph and node. */
  document?: number;
  graph?: string;
  node?: string;
}

/** The message of a turn. Its parameters and its event are JSON texts, which preserve the spelling of numbers. */
export interface TurnMessage {
  conversationId: string;
  message: string | null;
  reset: boolean;
  at: number;
  seed: number;
  inputParams: string;
  /** The event of a session, in place of a message. */
  event?: string;
  /** The whole message, for `start`. */
  text: string;
}

/** The answer to an effect. */
export interface Answer {
  /** The completion for `resume`, as JSON. */
  completion: string;
  /** Its outcome, as JSON. */
  outcome: string;
  /** How long the answer takes. */
  delayMs: number;
}

/** An answered effect of a turn. */
export interface Exchange {
  /** The effect's id. */
  effect: number;
  /** The clock of the turn after the answer. */
  at: number;
  /** The request and the outcome, as JSON. */
  request: string | null;
  outcome: string;
}

/** A step of an observed turn: of the pipeline, or a node of a flow as `graph/node`. */
export interface Step {
  step: string;
  /** Number of its first notice. */
  seq: number;
  finished: boolean;
  /** Whether it changed the session. */
  changed: boolean;
}

/** The session around a step; `after` is null while the step is unfinished. */
export interface StepSessions {
  before: { [member: string]: Json };
  after: { [member: string]: Json } | null;
}

/** The explanation of a decision. */
export interface Explanation {
  /** Number of the next notice: the position in the turn. */
  seq: number;
  step: string;
  topic: string;
  /** The facts that it was about. */
  about?: { [fact: string]: Json };
  /** The decision, in one sentence. */
  verdict?: string;
  /** The candidates, in evaluation order. */
  rows?: Candidate[];
}

/** A row, or another option, that a decision considered. */
export interface Candidate {
  table?: string;
  id?: number;
  name?: string;
  verdict: 'won' | 'lost' | 'matched' | 'not_matched' | 'out_of_scope' | 'not_reached' | 'failed';
  /** The reason; for a candidate that lost, what would make it win. */
  reason?: string;
  score?: Json;
  facts?: { [fact: string]: Json };
}

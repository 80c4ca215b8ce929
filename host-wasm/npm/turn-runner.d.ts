import type { Engine, Json, TurnMessage } from './engine.js';

export type { Json };

/** A message to the conversation, or another event of the session of a flow document. */
export type Message = MessageOptions & ({ message: string; flow?: undefined } | { flow: FlowEvent; message?: undefined });

/** An event of a session, such as `{ type: 'session.start', locale: 'de' }` or `{ type: 'user.button', button_id: 'yes' }`. */
export interface FlowEvent {
  type: string;
  [member: string]: Json;
}

/** What is optional of a message. */
export interface MessageOptions {
  /** The conversation; a new one if absent. */
  conversation_id?: string;
  input_params?: { [name: string]: Json };
  /** Whether to reset the conversation. */
  reset?: boolean;
  /** Time of arrival in milliseconds since 1970; now if absent. */
  at?: number;
  /** Seed of the turn's ids; random if absent. */
  seed?: number;
}

/** An effect that a turn requests. */
export interface Effect {
  id: number;
  /** Idempotency key: the same in every run of the turn. */
  key: string;
  class: 'pure' | 'read' | 'write' | 'irreversible';
  deadline_ms: number;
  request: { kind: string; [member: string]: Json };
}

/** Why an effect failed. */
export type ErrorKind =
  | 'timeout'
  | 'unavailable'
  | 'refused'
  | 'invalid'
  | 'not_found'
  | 'denied'
  | 'circuit_open'
  | 'limited'
  | 'unsupported'
  | 'interrupted'
  | 'cancelled'
  | 'mismatch';

/** The outcome of an effect. A text preserves the spelling of numbers. */
export type EffectOutcome = string | { ok: { kind: string; [member: string]: Json } } | { error: { kind: ErrorKind; message: string } };

/** What happens instead of an outcome: a whole completion, as of `engine.answer`; the turn times out; or another process takes it over. */
export type EffectControl = { completion: string } | { cancelAt: number } | { crash: true };

type EffectResult = EffectOutcome | EffectControl | undefined;

/** Answers an effect, which is also passed as text; `undefined` leaves it to the pack's script. */
export type EffectHandler = (effect: Effect, text: string) => EffectResult | Promise<EffectResult>;

/** Part of the audit trail, or a progress message. */
export interface Notice {
  seq: number;
  at: number;
  kind: string;
  [member: string]: Json;
}

/** Observes a turn while it runs. */
export interface TurnObserver {
  notices?(notices: Notice[]): void;
  effect?(effect: Effect): void;
  /** Another process has taken over: everything is published again from the beginning. */
  restart?(): void;
}

/** How a turn ended. */
export interface Outcome {
  conversation_id: string;
  intent: string | null;
  state: string | null;
  payload: { type: 'TEXT' | 'JSON'; value: string } | null;
  context: Json;
  fault: { code: string; message: string; recoverable: boolean } | null;
  /** The rows that a server would store. */
  writes: Json[];
  /** The answer of a flow document: messages, what is awaited, status; absent for tables. */
  flow?: { [member: string]: Json };
}

/** The result of a turn. */
export interface TurnResult {
  outcome: Outcome;
  /** The audit trail and progress messages of the turn. */
  notices: Notice[];
  /** The last slice, which contains the outcome, as the engine wrote it. */
  text: string;
}

/**
 * Runs one turn to its end and answers its effects one at a time. A text, and a message of the engine such as `scriptedTurn(0)`, is passed on
 * unchanged.
 */
export function runTurn(
  engine: Engine,
  message: string | Message | TurnMessage,
  handleEffect?: EffectHandler,
  observer?: TurnObserver,
): Promise<TurnResult>;

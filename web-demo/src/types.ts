import type { RunAnswer } from './chain/run';
import type { FlowAnswer, Message } from './flow/session';
import type { AnsweredEffect, UserInput } from './session/turn-data';
import type { Explanation, Step } from 'convengine-wasm';

export type { Answer, Candidate, Exchange as RecordedExchange, Explanation, Issue, Step as StepInfo, StepSessions, TurnMessage } from 'convengine-wasm';

/** A JSON value as the page reads it for display. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object as the page reads it for display. */
export interface JsonObject {
  [key: string]: Json;
}

/** An effect that the engine requests of its host. */
export interface Effect {
  id: number;
  key: string;
  class: 'pure' | 'read' | 'write' | 'irreversible';
  deadline_ms: number;
  /** Whether the answer may be streamed. */
  stream?: boolean;
  /** Whether it may be repeated when its result is unknown. */
  repeatable?: boolean;
  request: JsonObject & { kind: string };
}

/** A delta of a streamed answer, or a reset when a new attempt starts. */
export type Token = { effect: number; text: string } | { effect: number; reset: true };

/** The completion of an effect. */
export interface Completion {
  id: number;
  at: number;
  outcome: { ok: JsonObject & { kind: string } } | { error: { kind: string; message: string; detail?: string } };
}

/** What the engine publishes while a turn runs. */
export type Notice = AuditNotice | VerboseNotice | MessageNotice;

/** An audit record. */
export interface AuditNotice {
  seq: number;
  at: number;
  kind: 'audit';
  stage: string;
  payload: Json;
}

/** A progress message for users. */
export interface VerboseNotice {
  seq: number;
  at: number;
  kind: 'verbose';
  step: string;
  determinant: string;
  level: 'INFO' | 'ERROR';
  text: string | null;
  [detail: string]: Json;
}

/** A message of a flow, published immediately. */
export interface MessageNotice {
  seq: number;
  at: number;
  kind: 'message';
  message: Message;
}

/** How a turn ended. */
export interface Outcome {
  conversation_id: string;
  intent: string | null;
  state: string | null;
  payload: { type: 'TEXT' | 'JSON'; value: string } | null;
  context: Json;
  fault: { code: string; message: string; recoverable: boolean } | null;
  writes: Json[];
  /** The answer of a flow session or of a run. */
  flow?: FlowAnswer | RunAnswer;
}

/** The result of one engine call. */
export interface Slice {
  effects: Effect[];
  notices: Notice[];
  end: Outcome | null;
}

/** An effect with its completion. */
export interface Exchange {
  effect: Effect;
  completion: Completion;
  delayMs: number;
}

/** The details of a turn, from an observed replay. */
export interface TurnDetails {
  steps: Step[];
  explanations: Explanation[];
  /** Hash that a replay must reproduce. */
  stateHash: string;
}

/** A finished turn with everything that the page shows; without steps until it is inspected. */
export interface TurnRecord extends TurnDetails {
  /** Its number in the worker and its replacements: the id of the request that ran it. */
  turn: number;
  input: UserInput;
  /** Everything that cannot be derived. */
  journal: string;
  notices: Notice[];
  exchanges: AnsweredEffect[];
  outcome: Outcome;
  /** Hash of all slices and the outcome. */
  hash: string;
  /** Hash of the configuration. */
  config: string;
  durationMs: number;
}

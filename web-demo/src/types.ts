import type { Answer, Message } from './flow/session';
import type { Answered, Said } from './session/saved';

/** A JSON value as the page reads it for display. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object as the page reads it for display. */
export interface JsonObject {
  [key: string]: Json;
}

/** One finding of the engine about a pack. */
export interface Issue {
  severity: 'error' | 'warning';
  path: string;
  reason: string;
  hint: string;
  rule: string;
  /** Where it is about a node of a flow document, whose path is then a JSON pointer. */
  graph?: string;
  node?: string;
}

/** What the engine asks its host to do. */
export interface Effect {
  id: number;
  key: string;
  class: 'pure' | 'read' | 'write' | 'irreversible';
  deadline_ms: number;
  /** Whether the answer may be shown while it is made. */
  stream?: boolean;
  /** Whether it may be asked again when nobody knows whether it was carried out. */
  repeatable?: boolean;
  request: JsonObject & { kind: string };
}

/** A piece of an answer that is being made, or that an attempt at it failed and a new one begins. */
export type Token = { effect: number; text: string } | { effect: number; reset: true };

/** What came of one effect. */
export interface Completion {
  id: number;
  at: number;
  outcome: { ok: JsonObject & { kind: string } } | { error: { kind: string; message: string } };
}

/** Something the engine says about the turn while it runs. */
export type Notice = AuditNotice | VerboseNotice | MessageNotice;

/** A decision as it is written to the audit trail. */
export interface AuditNotice {
  seq: number;
  at: number;
  kind: 'audit';
  stage: string;
  payload: Json;
}

/** A progress message for people. */
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

/** A message of a flow, told as soon as it is said. */
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
  /** What a session of a flow answers. */
  flow?: Answer;
}

/** What one call of the engine brings forth. */
export interface Slice {
  effects: Effect[];
  notices: Notice[];
  end: Outcome | null;
}

/** An effect with its answer. */
export interface Exchange {
  effect: Effect;
  completion: Completion;
  delayMs: number;
}

/** One step of a turn. */
export interface StepInfo {
  step: string;
  /** The number of the first notice in it. */
  seq: number;
  finished: boolean;
  /** Whether it changed the session. */
  changed: boolean;
}

/** Why a decision fell as it did. */
export interface Why {
  /** The number of the next notice: the place in the turn. */
  seq: number;
  step: string;
  topic: string;
  about?: JsonObject;
  verdict?: string;
  rows?: Considered[];
}

/** A row that was considered for a decision. */
export interface Considered {
  table: string;
  id: Json;
  name?: string;
  verdict: 'won' | 'lost' | 'matched' | 'not_matched' | 'out_of_scope' | 'not_reached' | 'failed';
  reason?: string;
  score?: number;
  facts?: JsonObject;
}

/** What a turn is found to have done once it is run again and watched. */
export interface Seen {
  steps: StepInfo[];
  whys: Why[];
  /** Names what a replay is judged by. */
  stateHash: string;
}

/** A finished turn with everything that the page shows of it; before it has been looked into, there are no steps. */
export interface TurnRecord extends Seen {
  /** Its number in the worker, and in every one that takes its place: that of the request that ran it. */
  turn: number;
  said: Said;
  /** All of it that cannot be derived. */
  journal: string;
  notices: Notice[];
  answered: Answered[];
  outcome: Outcome;
  /** Names all slices and the outcome. */
  hash: string;
  /** Names the configuration that it ran on. */
  config: string;
  durationMs: number;
}

import type { Engine } from 'convengine';

/** A value as JSON has it. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** What is said. A text is taken as it is, an object is written as JSON. */
export interface Message {
  message: string;
  /** The conversation; a new one when absent. */
  conversation_id?: string;
  input_params?: { [name: string]: Json };
  /** Whether the conversation begins anew. */
  reset?: boolean;
  /** When it arrived, in milliseconds since 1970; now when absent. */
  at?: number;
  /** What the turn's ids are made of; random when absent. */
  seed?: number;
}

/** What a turn asks for. */
export interface Effect {
  id: number;
  /** Names it in every run of the turn. */
  key: string;
  class: 'pure' | 'read' | 'write' | 'irreversible';
  deadline_ms: number;
  request: { kind: string; [member: string]: Json };
}

/** Why there is no answer. */
export type Failure =
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

/** How it was answered: as a text when its numbers matter to the last digit. */
export type Answer = string | { ok: { kind: string; [member: string]: Json } } | { error: { kind: Failure; message: string } };

/** Answers an effect, which it gets as its text too; nothing leaves it to the pack's script. */
export type Fulfil = (effect: Effect, text: string) => Answer | undefined | Promise<Answer | undefined>;

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
}

/** What a turn leaves behind. */
export interface Driven {
  outcome: Outcome;
  /** All that it told on the way: the audit trail, and progress messages. */
  notices: { seq: number; at: number; kind: string; [member: string]: Json }[];
  /** The last slice with the outcome, as the engine wrote it. */
  text: string;
}

/** Drives one turn to its end, answering its effects one at a time. */
export function drive(engine: Engine, message: string | Message, fulfil?: Fulfil): Promise<Driven>;

import type { Reach } from './fulfil/live';
import type { Effect, Exchange, Issue, Json, Notice, Outcome, Token, TurnRecord } from './types';

/** What the page asks of the worker. */
export type Request =
  | { id: number; type: 'load'; pack: string; strict: boolean }
  | ({ id: number; type: 'send'; reach: Reach } & Message)
  | { id: number; type: 'play'; pack: string; keep: boolean }
  | { id: number; type: 'extend'; pack: string; effects: string[] }
  | { id: number; type: 'check'; extension: string; bytes: Uint8Array<ArrayBuffer> };

/** What a person says, with the input params as the JSON text that was typed. */
export interface Message {
  message: string;
  conversationId: string;
  reset: boolean;
  inputParams: string;
}

/** What the worker says while a request runs. */
export type Progress =
  | { id: number; type: 'notices'; notices: Notice[] }
  | { id: number; type: 'effect'; effect: Effect }
  | { id: number; type: 'token'; token: Token }
  | { id: number; type: 'answer'; exchange: Exchange }
  | { id: number; type: 'turn'; turn: TurnRecord };

/** What ends a request. */
export type Reply =
  | ({ id: number; type: 'loaded' } & Loaded)
  | { id: number; type: 'done'; turn: TurnRecord }
  | { id: number; type: 'played'; turns: PlayedTurn[] }
  | { id: number; type: 'extended'; completions: string[] }
  | { id: number; type: 'checked'; refused: string }
  | ({ id: number; type: 'failed' } & Failure);

/** A pack as the engine sees it; `accepted` tells whether the engine now runs it. */
export interface Loaded {
  accepted: boolean;
  issues: Issue[];
  hash: string;
  /** The messages of the turns that the pack brings along. */
  turns: string[];
}

/** One turn of a pack that was played. */
export interface PlayedTurn {
  index: number;
  hash: string;
  payload: Outcome['payload'];
  intent: string | null;
  state: string | null;
}

/** Why a request failed; after a fatal failure the worker is of no more use. */
export interface Failure {
  code: string;
  message: string;
  fatal: boolean;
}

/** Puts a message into the engine's form without rewriting what was typed. */
export function messageText(it: Message, at: number, seed: number): string {
  const text = (value: Json) => JSON.stringify(value);
  return (
    `{"conversation_id":${text(it.conversationId)},"message":${text(it.message)},"reset":${it.reset},` +
    `"input_params":${it.inputParams.trim() || '{}'},"at":${at},"seed":${seed}}`
  );
}

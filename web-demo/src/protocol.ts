import type { Fault } from './run/fault';
import type { Reach } from './fulfil/live';
import type { Answered, Origin, Said } from './session/saved';
import type { Effect, Issue, Json, Notice, Outcome, Seen, Token, TurnRecord } from './types';

/** What the page asks of the worker. */
export type Request =
  | { id: number; type: 'load'; pack: string; strict: boolean }
  | ({ id: number; type: 'run' } & Run)
  | { id: number; type: 'answer'; run: number; effect: number; decision: Decision }
  | { id: number; type: 'stop'; run: number }
  | { id: number; type: 'ping' }
  | { id: number; type: 'find'; kind: string; pattern: string; texts: string[] }
  | { id: number; type: 'forget'; turns: number[] }
  | { id: number; type: 'adopt'; journal: string; pack: string; parent: number | null }
  | { id: number; type: 'look'; turn: number }
  | { id: number; type: 'step'; turn: number; index: number }
  | { id: number; type: 'journals'; turns: number[] }
  | { id: number; type: 'play'; pack: string }
  | { id: number; type: 'extend'; pack: string; effects: string[] }
  | { id: number; type: 'forgetKeys' }
  | { id: number; type: 'check'; extension: string; bytes: Uint8Array<ArrayBuffer> };

/** One turn to run: after which other one, who answers, and what of an earlier run of it is used again. */
export interface Run {
  said: Said;
  /** The turn before it on its branch. */
  parent: number | null;
  /** The newest turn of the same conversation on the branch, whose end it goes on from. */
  before: number | null;
  sources: Sources;
  reach: Reach;
  /** How many calls of models may still leave the page; nothing for any number. */
  liveLeft?: number;
  again?: Again;
  /** The pack that it runs on, when that is not the one that was loaded last. */
  pack?: string;
  faults: FaultRule[];
}

/** What a turn that is run again takes from the run before it. */
export interface Again {
  /** The recorded answers in their order. */
  recorded: Recorded[];
  /** Answers from this place on are not used again; nothing for all of them. */
  until?: number;
  /** What is answered otherwise, by place. */
  edits: { place: number; decision: Decision }[];
}

/** A recorded answer. Without its request it is for the effect at its place, or for the next one that asks for the same. */
export interface Recorded {
  request: string | null;
  /** What is asked for, as in talks: `llm dialogue_act`, `task loan:file`. The outcome is then the text that a person would type. */
  asks?: string;
  outcome: string;
  took: number;
  origin: Origin;
}

/** How an effect is answered by hand. */
export type Decision =
  | { outcome: string; origin: Origin; delayMs?: number }
  | { fault: Fault }
  | { use: 'script' | 'auto' | 'live' | 'recorded'; /** How many calls of models may leave the page by now. */ liveLeft?: number };

/** A fault that strikes whatever fits, for as long as it stands. */
export interface FaultRule {
  /** Kind and title of effects, such as `llm dialogue_act`; empty for all. */
  on: string;
  /** Only the nth that fits in a turn; 0 for each. */
  nth: number;
  fault: Fault;
}

/** Who answers. */
export interface Sources {
  models: 'pack' | 'script' | 'auto' | 'manual' | 'live';
  others: 'script' | 'manual' | 'live';
  /** What is done with a recorded answer whose request has changed, by purpose; asked when nothing stands here. */
  stale: Record<string, 'script' | 'auto' | 'live' | 'recorded'>;
}

/** What the worker says while a request runs. */
export type Progress =
  | { id: number; type: 'notices'; notices: Notice[] }
  | { id: number; type: 'effect'; effect: Effect }
  | { id: number; type: 'token'; token: Token }
  | { id: number; type: 'ask'; ask: Ask }
  | { id: number; type: 'answer'; answered: Answered }
  | { id: number; type: 'again' };

/** An effect that waits for a person. */
export interface Ask {
  effect: Effect;
  /** The answer of the earlier run, whose request was another one. */
  recorded: { request: Json; outcome: string } | null;
  /** Whether the pack has an answer. */
  scripted: boolean;
  /** What the automatic model would say. */
  auto: string | null;
  /** A text to begin with that fits the schema. */
  skeleton: string;
  /** Whether it waits because no more calls may leave the page. */
  limited?: boolean;
}

/** What ends a request. */
export type Reply =
  | ({ id: number; type: 'loaded' } & Loaded)
  | { id: number; type: 'ran'; turn: TurnRecord }
  | { id: number; type: 'noted' }
  | ({ id: number; type: 'seen' } & Seen)
  | { id: number; type: 'step'; before: string; after: string | null }
  | { id: number; type: 'journals'; journals: Journaled[] }
  | { id: number; type: 'played'; turns: PlayedTurn[] }
  | { id: number; type: 'extended'; completions: string[] }
  | { id: number; type: 'checked'; refused: string }
  | { id: number; type: 'found'; found: (boolean | null)[] }
  | ({ id: number; type: 'failed' } & Failure);

/** A turn as it is kept: all that cannot be derived, and the pack that it ran on. */
export interface Journaled {
  journal: string;
  pack: string;
  config: string;
  stateHash: string;
}

/** A pack as the engine sees it; `accepted` tells whether the engine now runs it. */
export interface Loaded {
  accepted: boolean;
  issues: Issue[];
  hash: string;
  /** The turns that the pack brings along. */
  turns: Said[];
  /** The id of a conversation that nobody has named. */
  main: string;
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
export function messageText(it: Said): string {
  if (it.text !== undefined) return it.text;
  const text = (value: Json) => JSON.stringify(value);
  const event = it.event === undefined ? '' : `,"flow":${it.event}`;
  return (
    `{"conversation_id":${text(it.conversationId)},"message":${text(it.message)},"reset":${it.reset},` +
    `"input_params":${it.inputParams.trim() || '{}'},"at":${it.at},"seed":${it.seed}${event}}`
  );
}

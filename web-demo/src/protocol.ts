import type { Fault } from './run/fault';
import type { LiveAccess } from './effects/live';
import type { ScriptIssue } from './effects/script';
import type { AnsweredEffect, Origin, UserInput } from './session/turn-data';
import type { Effect, Issue, Json, Notice, Outcome, StepSessions, TurnDetails, Token, TurnRecord } from './types';

/** Requests of the page to the worker. */
export type Request =
  | { id: number; type: 'load'; pack: string; strict: boolean }
  | ({ id: number; type: 'run' } & Run)
  | { id: number; type: 'answer'; run: number; effect: number; decision: Decision }
  | { id: number; type: 'stop'; run: number }
  | { id: number; type: 'ping' }
  | { id: number; type: 'lint'; pack: string }
  | { id: number; type: 'match'; kind: string; pattern: string; texts: string[] }
  | { id: number; type: 'schema'; doc: string }
  | { id: number; type: 'forget'; turns: number[] }
  | { id: number; type: 'replay'; journal: string; pack: string; parent: number | null }
  | { id: number; type: 'inspect'; turn: number }
  | { id: number; type: 'step'; turn: number; index: number }
  | { id: number; type: 'journals'; turns: number[] }
  | { id: number; type: 'play'; pack: string }
  | { id: number; type: 'conversationIds'; labels: string[] }
  | { id: number; type: 'extend'; pack: string; effects: string[] }
  | { id: number; type: 'forgetKeys' }
  | { id: number; type: 'search'; search: string }
  | { id: number; type: 'checkScripts'; codes: string[] }
  | { id: number; type: 'check'; extension: string; bytes: Uint8Array<ArrayBuffer> };

/** A turn to run: its parent, who answers its effects, and what is reused of an earlier run. */
export interface Run {
  input: UserInput;
  /** The preceding turn of its branch. */
  parent: number | null;
  /** The last turn of the same conversation on the branch, from which it continues. */
  before: number | null;
  sources: Sources;
  liveAccess: LiveAccess;
  /** Remaining live model calls; unlimited if absent. */
  liveCallsLeft?: number;
  repeat?: Repeat;
  /** The pack that it runs on, if not the last loaded one. */
  pack?: string;
  faults: FaultRule[];
}

/** What a repeated turn reuses of its earlier run. */
export interface Repeat {
  /** The recorded answers, in order. */
  recorded: RecordedAnswer[];
  /** Answers from this position on are not reused; all are if absent. */
  until?: number;
  /** Changed answers, by effect position. */
  edits: { place: number; decision: Decision }[];
}

/** A recorded answer. Without a request it applies to the effect at its position, or to the next one with the same target. */
export interface RecordedAnswer {
  request: string | null;
  /** The target, as in talks: `llm dialogue_act`, `task loan:file`. The outcome is then the text that a person would type. */
  target?: string;
  outcome: string;
  delayMs: number;
  origin: Origin;
}

/** A person's decision how to answer an effect. */
export type Decision =
  | { outcome: string; origin: Origin; delayMs?: number }
  | { fault: Fault }
  | { use: 'script' | 'auto' | 'live' | 'recorded'; /** The current number of remaining live model calls. */ liveCallsLeft?: number };

/** Injects a fault into matching effects while it is active. */
export interface FaultRule {
  /** Kind, or kind and title, of effects, such as `llm dialogue_act`; empty for all. */
  on: string;
  /** Only the nth matching effect of a turn; 0 for all. */
  nth: number;
  fault: Fault;
}

/** Who answers effects. */
export interface Sources {
  models: 'pack' | 'script' | 'auto' | 'manual' | 'live';
  others: 'script' | 'manual' | 'live';
  /** What to do, by effect title, if the request of a recorded answer has changed; a person decides if absent. */
  stale: Record<string, 'script' | 'auto' | 'live' | 'recorded'>;
}

/** Messages of the worker while a request runs. */
export type Progress =
  | { id: number; type: 'notices'; notices: Notice[] }
  | { id: number; type: 'effect'; effect: Effect }
  | { id: number; type: 'token'; token: Token }
  | { id: number; type: 'ask'; ask: Ask }
  | { id: number; type: 'answer'; exchange: AnsweredEffect }
  | { id: number; type: 'restart' };

/** An effect that waits for a person. */
export interface Ask {
  effect: Effect;
  /** The answer of the earlier run, whose request differs. */
  recorded: { request: Json; outcome: string } | null;
  /** Whether the pack's script has an answer. */
  scripted: boolean;
  /** The reply of the automatic model. */
  auto: string | null;
  /** Initial text that matches the schema. */
  skeleton: string;
  /** Whether it waits because the limit of live calls is reached. */
  limited?: boolean;
}

/** Replies, which end a request. */
export type Reply =
  | ({ id: number; type: 'loaded' } & LoadedPack)
  | { id: number; type: 'turn'; turn: TurnRecord }
  | { id: number; type: 'done' }
  | ({ id: number; type: 'details' } & TurnDetails)
  | ({ id: number; type: 'step' } & StepSessions)
  | { id: number; type: 'journals'; journals: TurnJournal[] }
  | { id: number; type: 'played'; turns: PlayedTurn[] }
  | { id: number; type: 'conversationIds'; ids: string[] }
  | { id: number; type: 'extended'; completions: string[] }
  | { id: number; type: 'found'; found: string }
  | { id: number; type: 'scriptIssues'; issues: ScriptIssue[][] }
  | { id: number; type: 'checked'; problem: string }
  | { id: number; type: 'issues'; issues: Issue[] }
  | { id: number; type: 'matches'; matches: (boolean | null)[] }
  | { id: number; type: 'schema'; schema: string }
  | ({ id: number; type: 'failed' } & Failure);

/** The journal of a turn, with its pack and hashes. */
export interface TurnJournal {
  journal: string;
  pack: string;
  config: string;
  stateHash: string;
}

/** The result of loading a pack; `accepted` tells whether it now runs. */
export interface LoadedPack {
  accepted: boolean;
  issues: Issue[];
  /** Whether the issues of lint are among them. */
  linted: boolean;
  hash: string;
  /** The turns that the pack contains. */
  turns: UserInput[];
  /** The id of the default conversation. */
  main: string;
}

/** One turn of a played pack. */
export interface PlayedTurn {
  index: number;
  hash: string;
  payload: Outcome['payload'];
  intent: string | null;
  state: string | null;
}

/** Why a request failed; after a fatal failure the worker must be replaced. */
export interface Failure {
  code: string;
  message: string;
  fatal: boolean;
}

/** Serialises an input in the engine's form without re-encoding typed JSON. */
export function messageText(it: UserInput): string {
  if (it.text !== undefined) return it.text;
  const text = (value: Json) => JSON.stringify(value);
  const event = it.event === undefined ? '' : `,"flow":${it.event}`;
  return (
    `{"conversation_id":${text(it.conversationId)},"message":${text(it.message)},"reset":${it.reset},` +
    `"input_params":${it.inputParams.trim() || '{}'},"at":${it.at},"seed":${it.seed}${event}}`
  );
}

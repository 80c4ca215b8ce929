import type { Answer, Candidate, Engine, Exchange, Explanation, Issue, Json, Step, StepSessions, TurnMessage } from './engine.js';

export type { Answer, Candidate, Engine, Exchange, Explanation, Issue, Json, Step, StepSessions, TurnMessage };
export type {
  Effect,
  EffectControl,
  EffectHandler,
  EffectOutcome,
  ErrorKind,
  FlowEvent,
  Message,
  MessageOptions,
  Notice,
  Outcome,
  TurnObserver,
  TurnResult,
} from './turn-runner.js';
export { runTurn } from './turn-runner.js';

/**
 * Compiles a pack for its turns; the engine is loaded with the first one. Rejects with an error with code `NOT_A_PACK` if the text is not a
 * pack; `engine.free()` frees its memory.
 */
export function createEngine(pack: string): Promise<Engine>;

/** Finds all issues of a pack; lint is loaded with the first call. Rejects as `createEngine` does. */
export function lint(pack: string): Promise<Issue[]>;

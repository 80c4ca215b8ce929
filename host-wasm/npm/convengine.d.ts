import type { Candidate, Engine, Explanation, Issue, Json, Step, StepSessions } from './flow.js';

export type { Candidate, Engine, Explanation, Issue, Json, Step, StepSessions };
export type { Effect, EffectHandler, EffectOutcome, ErrorKind, FlowEvent, Message, MessageOptions, Outcome, TurnResult } from './turn-runner.js';
export { runTurn } from './turn-runner.js';

/**
 * Compiles a pack for its turns. The engine that it needs, of tables or of documents, is loaded with the first such pack. Rejects with an
 * error with code `NOT_A_PACK` if the text is not a pack; `engine.free()` frees its memory.
 */
export function createEngine(pack: string): Promise<Engine>;

/** Finds all issues of a pack; lint is loaded with the first call. Rejects as `createEngine` does. */
export function lint(pack: string): Promise<Issue[]>;

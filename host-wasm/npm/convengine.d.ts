import type { ConversationFunction } from './conversation.js';
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
export type {
  Conversation,
  ConversationAnswer,
  ConversationMessage,
  ConversationOptions,
  EffectKind,
  FlowMessage,
  KindHandler,
} from './conversation.js';
export { runTurn } from './turn-runner.js';

/**
 * Begins a conversation with a pack, which answers messages by `send`. The pack is JSON as text or as an object; an object loses the
 * difference between `1.0` and `1`. The engine is loaded with the first conversation.
 */
export const conversation: ConversationFunction;

/**
 * Compiles a pack for its turns; the engine is loaded with the first one. Rejects with an error with code `NOT_A_PACK` if the text is not a
 * pack; `engine.free()` frees its memory. As an object, a pack loses the difference between `1.0` and `1`.
 */
export function createEngine(pack: string | object): Promise<Engine>;

/** Finds all issues of a pack; lint is loaded with the first call. Rejects as `createEngine` does. */
export function lint(pack: string | object): Promise<Issue[]>;

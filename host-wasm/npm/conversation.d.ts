import type { Engine } from './engine.js';
import type { Effect, EffectControl, EffectOutcome, FlowEvent, Json, Message, Notice, Outcome, TurnObserver } from './turn-runner.js';

/** The kinds of effects. */
export type EffectKind =
  | 'llm'
  | 'embed'
  | 'task'
  | 'tool'
  | 'container'
  | 'sleep'
  | 'http'
  | 'sql'
  | 'extension'
  | 'knowledge'
  | 'script'
  | 'phrase_search';

type HandlerResult = EffectOutcome | EffectControl | undefined;

/** Answers the effects of a kind. `undefined` leaves one to the pack's script. A handler that throws rejects `send`. */
export type KindHandler = (request: Effect['request'], effect: Effect, text: string) => HandlerResult | Promise<HandlerResult>;

/** Options of a conversation. */
export interface ConversationOptions {
  /** Handlers by kind. Without one, the pack's script answers; where it has no answer, the effect fails as `unsupported`. */
  effects?: { [Kind in EffectKind]?: KindHandler };
  /** Observes the turns. */
  observer?: TurnObserver;
  /** The id of the conversation, a UUID; follows from the first turn if absent. */
  id?: string;
}

/** A message of a flow document. */
export interface FlowMessage {
  id: string;
  node: string;
  /** The message as plain text. */
  text: string;
  /** The message in parts: texts, buttons, images and others. */
  blocks: { kind: string; [member: string]: Json }[];
  locale: string;
  final: boolean;
  role: 'bot' | 'human';
}

/** The answer of a turn. */
export interface ConversationAnswer {
  /** What the user reads: the text of the payload, or the messages of a flow document, one a line; of a failed turn why it failed. */
  text: string;
  /** The payload, if it is JSON. */
  json: Json | undefined;
  /** Whether the turn succeeded. */
  success: boolean;
  intent: string | null;
  state: string | null;
  /** Why the turn failed. */
  fault: Outcome['fault'];
  /** The messages of a flow document; empty for tables. */
  messages: FlowMessage[];
  /** What a flow document waits for; null for tables. */
  awaiting: { kind: string; [member: string]: Json } | null;
  /** The status of a session of a flow document; null for tables. */
  status: 'awaiting_input' | 'handed_off' | 'completed' | 'failed' | null;
  /** The outcome as the engine reports it, with the rows that a server would store. */
  outcome: Outcome;
  /** The audit trail and progress messages of the turn. */
  notices: Notice[];
}

/** What can be sent: a message with its options, or an event of a flow document. */
export type ConversationMessage = Omit<Extract<Message, { message: string }>, 'conversation_id'> | Omit<Extract<Message, { flow: FlowEvent }>, 'conversation_id'>;

/** A conversation with an engine of its own. */
export interface Conversation {
  /** The id of the conversation; undefined before the first turn, unless it was given. */
  readonly id: string | undefined;
  /** The engine, for what is not here: journals, explanations, the stored conversation. */
  readonly engine: Promise<Engine>;
  /** Starts the session of a flow document; the answer has its welcome. Without it, the first message starts the session silently. */
  start(start?: { locale?: string; time_zone?: string; channel?: string; params?: { [name: string]: Json } }): Promise<ConversationAnswer>;
  /**
   * Runs a turn to its end. A text is a message of the user. Rejects with code `TURN_RUNNING` while another turn runs, and with `NOT_A_PACK`
   * if the pack cannot be used.
   */
  send(message: string | ConversationMessage): Promise<ConversationAnswer>;
  /** Frees the memory of the engine. */
  free(): Promise<void>;
}

/** Begins a conversation with a pack: JSON as text or as an object, which loses the difference between `1.0` and `1`. */
export type ConversationFunction = (pack: string | object, options?: ConversationOptions) => Conversation;

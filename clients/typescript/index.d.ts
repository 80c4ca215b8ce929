/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** Where the server is, and how it is called. */
export interface ClientOptions {
  /** The address of the server, such as `https://chat.example`. */
  url: string;
  /** A key or token of the server; sent as `Authorization: Bearer`. */
  apiKey?: string;
  /** The tenant, for servers that have several. */
  tenant?: string;
  /** The longest time without a response, or without a byte of a stream, in milliseconds; 150,000 if absent. */
  timeoutMs?: number;
  /** How often a request is repeated after a lost connection, 429 or 503; 2 if absent. Only what is safe to repeat is. */
  retries?: number;
  /** Takes the place of the global `fetch`. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, which then rejects with the reason of the signal. The turn goes on at the server. */
  signal?: AbortSignal;
  /** As in {@link ClientOptions}. */
  timeoutMs?: number;
  /** As in {@link ClientOptions}. */
  retries?: number;
}

/** Options of a message to a conversation. */
export interface MessageCallOptions extends CallOptions {
  /** Identifies the message, so that the server runs it once, however often it is sent; random if absent. */
  idempotencyKey?: string;
}

/** A client of a running server. */
export class Client {
  constructor(options: ClientOptions);
  /** Conversations of tables. */
  readonly tables: Tables;
  /** Returns the assistant with this id. Sends nothing. */
  assistant(id: string): Assistant;
  /** Returns the deployed assistant whose token is the `apiKey`, for pages of its origins. Sends nothing. */
  deployment(): Deployment;
  /** Resolves if the process is alive. */
  health(options?: CallOptions): Promise<{ status: string }>;
  /** Resolves if turns can run, of some tenant at least, and rejects with the status 503 if not. Both are asked once, without retries. */
  ready(options?: CallOptions): Promise<{ status: 'UP' | 'DEGRADED'; config?: string; tenants?: number; down?: number }>;
}

/**
 * The error of a request. A turn of tables that fails is an answer with `success: false`, not an error.
 */
export class ConvEngineError extends Error {
  /** The HTTP status; 0 without a response. An error at the end of a stream has the status of the stream, 200. */
  readonly status: number;
  /**
   * The code of the server, such as `session_completed`, or its status in words, such as `not_found`. Without a usable response
   * `connection_failed`, `timeout` or `invalid_response`.
   */
  readonly code: string;
  /** How long the server asks to wait before another attempt, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The body of the response: parsed if it is JSON, else as text. */
  readonly body: unknown;
}

/** The events of a turn. They can be iterated over once; leaving the loop closes the connection. The turn goes on at the server. */
export interface EventStream<Event> extends AsyncIterable<Event> {
  [Symbol.asyncIterator](): AsyncIterator<Event, void>;
  /** Closes the connection and ends the loop without an error. */
  cancel(): void;
}

/** A message to a conversation of tables. */
export interface TableMessage {
  /** The text of the user. */
  message?: string;
  /** The conversation, a UUID; a new one if absent. */
  conversationId?: string;
  /** Parameters for rules and templates. */
  inputParams?: { [name: string]: Json };
  /** Whether to restart the conversation. */
  reset?: boolean;
}

/** The answer to a message. */
export interface TableAnswer {
  /** Whether the turn succeeded. */
  success: boolean;
  /** The conversation, for the next message. */
  conversationId: string;
  /** The intent after the turn. */
  intent: string | null;
  /** The state after the turn. */
  state: string | null;
  /** What to show to the user; `value` is text, also if it is JSON. */
  payload: { type: 'TEXT' | 'JSON' | 'ERROR'; value: string | null } | null;
  /** The context as JSON text. */
  context: string | null;
  /** The code of a failed turn. */
  errorCode: string | null;
  /** What to show to the user of a failed turn. */
  message: string | null;
  /** Whether sending the message again may succeed. */
  recoverable: boolean;
}

/** A record of the audit, a progress message or a message of a flow session, as streams send it. */
export interface StageData {
  /** What the record is about, such as `USER_INPUT`. */
  stage: string;
  /** The time in ISO 8601. */
  createdAt: string;
  payload: { [member: string]: Json };
  /** The progress message; null in other records. */
  verbose: { text: string; level: 'INFO' | 'ERROR'; [member: string]: Json } | null;
}

/** An event of a conversation. Those with an `id` belong to a turn; after one of them a stream can be continued. */
export type ConversationEvent =
  | { type: 'CONNECTED'; id?: string | undefined; data: { conversationId: string; transport: string; resumed?: boolean } }
  | { type: 'AUDIT' | 'VERBOSE' | 'MESSAGE'; id?: string | undefined; data: StageData }
  /** A piece of the text of a model; `reset` takes back the pieces of the effect. */
  | { type: 'TOKEN'; id?: string | undefined; data: { turn: string; effect: number; text?: string; reset?: boolean } }
  | {
      type: 'TOOL_PROGRESS';
      id?: string | undefined;
      data: { turn: string; effect: number; progress: number; total: number | null; message: string | null };
    };

/** The last event of the stream of a message. */
export interface AnswerEvent {
  type: 'ANSWER';
  data: TableAnswer;
}

/** Conversations of tables. */
export interface Tables {
  /** Sends a message and resolves with the answer of its turn. A text is the message of a new conversation. */
  send(message: string | TableMessage, options?: MessageCallOptions): Promise<TableAnswer>;
  /**
   * Sends a message and yields the events of the conversation meanwhile; the last event is the answer. Without `conversationId` the client
   * chooses one. Events are shown, not stored: those that a broken connection loses are not repeated, and the answer comes anyway.
   */
  stream(message: string | TableMessage, options?: MessageCallOptions): EventStream<ConversationEvent | AnswerEvent>;
  /** Yields the events of all turns of a conversation until the connection ends; `lastEventId` continues after that event. */
  events(conversationId: string, options?: CallOptions & { lastEventId?: string }): EventStream<ConversationEvent>;
}

/** What a session may begin with. */
export interface SessionStart {
  locale?: string;
  /** The IANA name of the user's time zone. */
  time_zone?: string;
  channel?: string;
  /** The version of the document; the draft if absent. */
  version?: number;
  /** Initial variables. */
  params?: { [name: string]: Json };
  /** Who the user is, as stated by the caller. */
  user?: { [member: string]: Json };
  /** What is known of the user, unverified. */
  visitor?: { [member: string]: Json };
  /** A JSON Web Token that proves who the user is. */
  user_token?: string;
  /** The id of the session, a UUID; random if absent. */
  session_id?: string;
  /** Identifies the start, together with `session_id`; random if absent. */
  event_id?: string;
}

/** An event of a session. `event_id` identifies it, so that the server runs it once, however often it is sent; random if absent. */
export type SessionEvent =
  | { type: 'user.message'; text: string; event_id?: string; user_token?: string }
  | { type: 'user.button'; button_id: string; value?: Json; label?: string; event_id?: string; user_token?: string }
  | {
      type: 'approval.decision';
      call_id: string;
      approved: boolean;
      edited_args?: { [name: string]: Json };
      reason?: string;
      event_id?: string;
    }
  | { type: 'session.end'; reason?: string; event_id?: string };

/** A message of an assistant, or of a person at the desk. */
export interface SessionMessage {
  id: string;
  /** The node that sent it. */
  node: string;
  /** The message as plain text. */
  text: string;
  /** The message in parts: texts, buttons, images and others. */
  blocks: { kind: string; [member: string]: Json }[];
  locale: string;
  final: boolean;
  role: 'bot' | 'human';
  /** The person, for the role `human`. */
  author?: string;
}

/** The response of a turn. */
export interface TurnResponse {
  session_id: string;
  /** The number of user events so far. */
  turn: number;
  status: 'awaiting_input' | 'handed_off' | 'completed' | 'failed';
  messages: SessionMessage[];
  /** What the session is waiting for. */
  awaiting: { kind: string; [member: string]: Json } | null;
  /** The handoff, while a person has the session or should have it. */
  handoff?: { [member: string]: Json };
  debug?: { [member: string]: Json };
}

/** An event of a turn while it runs; the last one is `done`. */
export type TurnEvent =
  /** A piece of an agent's text before its message; `reset` takes back the pieces of the effect. */
  | { type: 'token'; data: { effect: number; delta?: string; reset?: boolean } }
  | { type: 'message'; data: SessionMessage }
  /** A step of the turn, for callers that may see `debug`. */
  | { type: 'trace'; data: { seq: number; kind: string; program: string; at: string | null; time: string; data: Json } }
  /** An effect begins or ends, for the same callers. */
  | { type: 'effect'; data: { id: number; kind?: string; phase: 'started' | 'finished'; purpose?: string; outcome?: string } }
  | { type: 'done'; data: TurnResponse };

/** An assistant. */
export interface Assistant {
  /** Starts a session and resolves when its first turn has ended. */
  start(start?: SessionStart, options?: CallOptions): Promise<Session>;
  /** Returns a session that was started before. Sends nothing. */
  session(id: string): Session;
}

/** A deployed assistant, which a page reaches with the token of a deployment. */
export interface Deployment {
  /** Starts a session and resolves when its first turn has ended. It is sent once: the server would take a repeated start for another one. */
  start(start?: DeployedSessionStart, options?: CallOptions): Promise<DeployedSession>;
  /** Returns a session that was started before, such as one whose page was reloaded. Sends nothing. */
  session(id: string): DeployedSession;
}

/** What a session of a deployment may begin with. */
export type DeployedSessionStart = Pick<SessionStart, 'locale' | 'time_zone' | 'channel' | 'params' | 'visitor' | 'user_token'>;

/** A session of a deployment. */
export interface DeployedSession extends Omit<Session, 'state'> {
  /** Resolves with what the user has seen: the newest 50 turns. */
  state(options?: CallOptions): Promise<{
    session_id: string;
    status: TurnResponse['status'];
    awaiting: TurnResponse['awaiting'];
    turns: { turn: number; user: string | null; messages: SessionMessage[] }[];
    [member: string]: Json | object;
  }>;
}

/** A session of an assistant. */
export interface Session {
  readonly id: string;
  /** The response of the first turn; undefined for a session that was started before. */
  readonly started: TurnResponse | undefined;
  /** Sends an event and resolves with the response of its turn. A text is a message of the user. */
  send(event: string | SessionEvent, options?: CallOptions): Promise<TurnResponse>;
  /**
   * Sends an event and yields what happens in its turn. Where the connection breaks, the client asks again and passes on the messages that
   * are new; pieces of texts are not repeated. A turn that fails at the server ends the loop with a {@link ConvEngineError}.
   */
  stream(event: string | SessionEvent, options?: CallOptions): EventStream<TurnEvent>;
  /** Resolves with the state of the session. */
  state(options?: CallOptions): Promise<{ session_id: string; status: string; vars: { [name: string]: Json }; [member: string]: Json }>;
}

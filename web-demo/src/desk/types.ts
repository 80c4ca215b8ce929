/** The objects of `/v1/desk`. */

/** A row of the list. */
export interface Row {
  session_id: string;
  assistant: string;
  state: 'waiting' | 'running';
  queue: string;
  reason: string;
  ticket: string | null;
  author: string | null;
  since: string;
  updated_at: string;
  preview: string;
  unread: number;
}

/** A page of the list. */
export interface Page {
  conversations: Row[];
  next_cursor: string | null;
  /** The name of the caller's key or token, which users see; null where the server asks for none. */
  author: string | null;
}

/** An entry of a transcript. */
export interface Entry {
  role: 'user' | 'bot' | 'human' | 'system';
  text: string;
  author?: string;
  turn: number;
}

export type VariableType = 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any';

/** A variable that the assistant declares. */
export interface Variable {
  name: string;
  type: VariableType;
  value: unknown;
  redacted: boolean;
}

/** A conversation with transcript and variables. */
export interface Conversation {
  session_id: string;
  assistant: string;
  seq: number;
  locale: string;
  channel: string;
  /** Who the user is, as the server has verified. */
  user: Record<string, unknown> | null;
  /** What a page states about its user. */
  visitor: Record<string, unknown> | null;
  handoff: { state: 'queued' | 'accepted'; queue?: string; reason?: string; author?: string; requested_at: string } | null;
  history: Entry[];
  variables: Variable[];
}

/** What an action has done. */
export interface Result {
  status: string;
  warnings: string[] | null;
}

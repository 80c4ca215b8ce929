import { eventText, type FlowEvent } from './flow/event';
import type { Repeat } from './protocol';
import type { UserInput } from './session/turn-data';

/** The clock of a new conversation, 2026-01-01T09:00:00Z: that of packs and talks. */
const FIRST_TURN_AT = 1_767_258_000_000;
const BETWEEN_TURNS_MS = 60_000;

/** An input as a person typed it. */
export interface TypedInput {
  message: string;
  inputParams?: string;
  reset?: boolean;
  /** Time that passes before it, in milliseconds. */
  wait?: number;
  /** The event of a flow session, instead of a message. */
  event?: FlowEvent;
}

/** Builds the input that follows a turn, or that replaces a similar input. */
export function nextInput(typed: TypedInput, parent: { input: UserInput; number: number } | undefined, pack: { main: string; flow: boolean; chain?: boolean }, like?: UserInput): UserInput {
  const { inputParams = '', reset = false, wait } = typed;
  const { conversation, conversationId } = like ?? parent?.input ?? { conversation: 'main', conversationId: pack.main };
  const at = like?.at ?? (parent ? parent.input.at + (wait ?? BETWEEN_TURNS_MS) : FIRST_TURN_AT + (wait ?? 0));
  const message = typed.message;
  // A run gets a message for the assistant that it talks to.
  const said: FlowEvent = pack.chain ? { type: 'run.resume', text: message } : { type: 'user.message', text: message };
  const event = pack.flow ? (typed.event ?? said) : undefined;
  const seed = like?.seed ?? (parent?.number ?? 0) + 1;
  return { conversation, conversationId, message: event ? eventText(event) : message, inputParams: event ? '' : inputParams, reset, at, seed, ...(event ? { event: JSON.stringify(event) } : {}) };
}

/** How a turn is rerun. */
export interface RerunOptions {
  /** Another input than the original. */
  typed?: TypedInput;
  /** Answers from this position on are not reused. */
  until?: number;
  /** Changed answers. */
  edits?: Repeat['edits'];
  /** Why, in a few words; the label of the branch. */
  reason: string;
}

/** What is known of a recorded turn besides its answers. */
export interface RecallOptions {
  reason?: string;
  /** Faults without an answer. */
  silentFaults?: Repeat['edits'];
  /** The pack that it ran on, if not the current one. */
  pack?: string | undefined;
}

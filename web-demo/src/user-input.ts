import { eventWords, type FlowEvent } from './flow/event';
import type { Again } from './protocol';
import type { Said } from './session/saved';

/** The clock of a new conversation, 2026-01-01T09:00:00Z: that of packs and talks. */
const BEGINS_AT = 1_767_258_000_000;
const BETWEEN_TURNS_MS = 60_000;

/** What a person says, as it is typed. */
export interface Typed {
  message: string;
  inputParams?: string;
  reset?: boolean;
  /** How much time passes first, in milliseconds. */
  wait?: number;
  /** What happens to a session of a flow in place of a message. */
  event?: FlowEvent;
}

/** Puts what is typed behind a turn, or in the place of one that it is like. */
export function saidAfter(typed: Typed, parent: { said: Said; number: number } | undefined, to: { main: string; flow: boolean }, like?: Said): Said {
  const { inputParams = '', reset = false, wait } = typed;
  const { conversation, conversationId } = like ?? parent?.said ?? { conversation: 'main', conversationId: to.main };
  const at = like?.at ?? (parent ? parent.said.at + (wait ?? BETWEEN_TURNS_MS) : BEGINS_AT + (wait ?? 0));
  const event = to.flow ? (typed.event ?? ({ type: 'user.message', text: typed.message } as const)) : undefined;
  const message = event ? eventWords(event) : typed.message;
  const seed = like?.seed ?? (parent?.number ?? 0) + 1;
  return { conversation, conversationId, message, inputParams: event ? '' : inputParams, reset, at, seed, ...(event ? { event: JSON.stringify(event) } : {}) };
}

/** How a turn is run again. */
export interface Other {
  /** Another message in the place of its own. */
  typed?: Typed;
  /** Answers from this place on are given anew. */
  until?: number;
  /** Answers that are given otherwise. */
  edits?: Again['edits'];
  /** Why, in a few words. */
  reason: string;
}

/** What is told of a recorded turn. */
export interface Recalled {
  reason?: string;
  /** Faults that left no answer behind. */
  struck?: Again['edits'];
  /** The pack that it ran on, when that is another one than runs now. */
  pack?: string | undefined;
}

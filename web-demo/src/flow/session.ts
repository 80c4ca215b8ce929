/** What is read of a flow session: what a turn answers, and what it leaves behind. */
import type { Json, JsonObject, Notice, Outcome, TurnRecord } from '../types';

/** A button, and an option that is waited for. */
export interface Button {
  id: string;
  label: string;
  value?: Json;
  url?: string;
}

/** A card with what can be pressed on it. */
export interface Card {
  title: string;
  subtitle?: string;
  image_url?: string;
  buttons?: Button[];
}

/** A part of a message. */
export type Block =
  | { kind: 'text'; text: string }
  | { kind: 'buttons'; text?: string; buttons: Button[] }
  | ({ kind: 'card' } & Card)
  | { kind: 'carousel'; items: Card[] }
  | { kind: 'list'; title?: string; items: { title: string; subtitle?: string; value?: Json }[] }
  | { kind: 'media'; media: string; url: string; alt?: string }
  | { kind: 'custom'; schema: string; payload: Json };

/** A message of the bot, or of a person who has taken over. */
export interface Message {
  id: string;
  node?: string | null;
  text: string;
  blocks: Block[];
  role: 'bot' | 'human';
  author?: string;
}

/** What a session waits for. */
export interface Awaiting {
  kind: 'entity' | 'button' | 'any' | 'agent' | 'handoff' | 'approval';
  node: string;
  entity?: string;
  variable?: string;
  options?: Button[];
  no_input_count?: number;
  call?: JsonObject;
}

/** A node that was entered, and the port by which it was left. */
export interface Entered {
  id: string;
  name: string;
  type: string;
  graph: string;
  ms: number;
  port: string | null;
}

/** What a turn of a session answers. */
export interface Answer {
  turn: number;
  status: 'awaiting_input' | 'handed_off' | 'completed' | 'failed';
  messages: Message[];
  awaiting: Awaiting | null;
  debug: {
    matched_intent: { intent_id: string | null; source: string; confidence: number } | null;
    nodes: Entered[];
    variables_changed: string[];
    warnings: string[];
    stop_reason: string | null;
  };
}

/** A graph that is being walked. */
export interface Frame {
  graph: string;
  node: string;
  kind: 'root' | 'intent' | 'subflow' | 'event';
  intent_id?: string;
}

/** A session between two turns. */
export interface Session extends JsonObject {
  status: string;
  turn: number;
  vars: JsonObject;
}

/** Timers run until the next event. */
export interface Timer {
  id: string;
  due: string;
  purpose: string;
}

/** The session as a turn leaves it; nothing of turns that failed and of other programs. */
export function sessionOf(record: Pick<TurnRecord, 'outcome'> | undefined): Session | undefined {
  const written = record?.outcome.writes.find((it) => (it as JsonObject | null)?.['table'] === 'flow');
  return (written as { state?: Session } | undefined)?.state;
}

/** The frames of a session, the root first. */
export function stackOf(session: JsonObject | undefined): Frame[] {
  const stack = session?.['stack'];
  return Array.isArray(stack) ? (stack as unknown as Frame[]) : [];
}

/** The timers that run in a session. */
export function timersOf(session: JsonObject | undefined): Timer[] {
  const timers = session?.['timers'];
  return Array.isArray(timers) ? (timers as unknown as Timer[]) : [];
}

/** What a turn of a flow answered; nothing of other turns. */
export function answerOf(outcome: Outcome | undefined): Answer | undefined {
  return outcome?.flow;
}

/** The messages of a turn, those included that were said while it still runs. */
export function messagesOf(turn: { notices: Notice[]; record: Pick<TurnRecord, 'outcome'> | undefined }): Message[] {
  return turn.record?.outcome.flow?.messages ?? turn.notices.flatMap((it) => (it.kind === 'message' ? [it.message] : []));
}

/** What can be pressed in a message. */
export function buttonsOf(message: Message): Button[] {
  return message.blocks.flatMap((it) => {
    if (it.kind === 'buttons') return it.buttons;
    if (it.kind === 'card') return it.buttons ?? [];
    return it.kind === 'carousel' ? it.items.flatMap((card) => card.buttons ?? []) : [];
  });
}

/** Whether a session has come to its end, so that nothing can be said any more. */
export function isOver(outcome: Outcome | undefined): boolean {
  return ['completed', 'failed'].includes(outcome?.flow?.status ?? '');
}

/** Types of flow sessions and answers, and how they are read from turns. */
import type { Json, JsonObject, Notice, Outcome, TurnRecord } from '../types';

/** A button, or an option of an expected answer. */
export interface Button {
  id: string;
  label: string;
  value?: Json;
  url?: string;
}

/** A card with buttons. */
export interface Card {
  title: string;
  subtitle?: string;
  image_url?: string;
  buttons?: Button[];
}

/** A block of a message. */
export type Block =
  | { kind: 'text'; text: string }
  | { kind: 'buttons'; text?: string; buttons: Button[] }
  | ({ kind: 'card' } & Card)
  | { kind: 'carousel'; items: Card[] }
  | { kind: 'list'; title?: string; items: { title: string; subtitle?: string; value?: Json }[] }
  | { kind: 'media'; media: string; url: string; alt?: string }
  | { kind: 'custom'; schema: string; payload: Json };

/** A message of the bot or of a human agent. */
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

/** A node that was entered, and the port through which it was left. */
export interface VisitedNode {
  id: string;
  name: string;
  type: string;
  graph: string;
  ms: number;
  port: string | null;
}

/** The transfer of a session to a person, as it is stored. */
export interface Handoff {
  correlation_id: string;
  state: 'queued' | 'accepted';
  queue?: string;
  reason?: string;
  ticket?: string;
  position?: number;
  eta_ms?: number;
  author?: string;
  requested_at: string;
}

/** The answer of a flow turn. */
export interface FlowAnswer {
  turn: number;
  status: 'awaiting_input' | 'handed_off' | 'completed' | 'failed';
  messages: Message[];
  awaiting: Awaiting | null;
  debug: {
    matched_intent: { intent_id: string | null; source: string; confidence: number } | null;
    nodes: VisitedNode[];
    variables_changed: string[];
    warnings: string[];
    stop_reason: string | null;
  };
}

/** A frame of the call stack. */
export interface StackFrame {
  graph: string;
  node: string;
  kind: 'root' | 'intent' | 'subflow' | 'event';
  intent_id?: string;
}

/** A flow session between two turns. */
export interface FlowSession extends JsonObject {
  status: string;
  turn: number;
  vars: JsonObject;
}

/** A timer, which runs until the next event. */
export interface Timer {
  id: string;
  due: string;
  purpose: string;
}

/** The session or run after a turn, as stored; `undefined` for failed turns and table configurations. */
export function readFlowSession(record: Pick<TurnRecord, 'outcome'> | undefined): FlowSession | undefined {
  const written = record?.outcome.writes.find((it) => (it as JsonObject | null)?.['table'] === 'flow');
  return (written as { state?: FlowSession } | undefined)?.state;
}

/** The call stack of a session, root first. */
export function readStack(session: JsonObject | undefined): StackFrame[] {
  const stack = session?.['stack'];
  return Array.isArray(stack) ? (stack as unknown as StackFrame[]) : [];
}

/** The handoff of a session; `undefined` while no person has the conversation. */
export function readHandoff(session: JsonObject | undefined): Handoff | undefined {
  return (session?.['handoff'] ?? undefined) as Handoff | undefined;
}

/** The active timers of a session. */
export function readTimers(session: JsonObject | undefined): Timer[] {
  const timers = session?.['timers'];
  return Array.isArray(timers) ? (timers as unknown as Timer[]) : [];
}

/** The answer of a flow session; `undefined` for runs and for turns of tables. */
export function flowAnswer(outcome: Outcome | undefined): FlowAnswer | undefined {
  const answer = outcome?.flow;
  return answer && !('run_id' in answer) ? answer : undefined;
}

/** The messages of a turn, including those of a turn that is still running. */
export function turnMessages(turn: { notices: Notice[]; record: Pick<TurnRecord, 'outcome'> | undefined }): Message[] {
  return turn.record?.outcome.flow?.messages ?? turn.notices.flatMap((it) => (it.kind === 'message' ? [it.message] : []));
}

/** The buttons of a message. */
export function messageButtons(message: Message): Button[] {
  return message.blocks.flatMap((it) => {
    if (it.kind === 'buttons') return it.buttons;
    if (it.kind === 'card') return it.buttons ?? [];
    return it.kind === 'carousel' ? it.items.flatMap((card) => card.buttons ?? []) : [];
  });
}

/** Whether a session has ended and accepts no more input. */
export function hasSessionEnded(outcome: Outcome | undefined): boolean {
  return ['completed', 'failed'].includes(flowAnswer(outcome)?.status ?? '');
}

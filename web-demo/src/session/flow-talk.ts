/** The lines of a talk about a flow: what happens in a turn, and how the session stands after it. */
import { eventOf, type FlowEvent } from '../flow/event';
import { sessionOf } from '../flow/session';
import type { Json, JsonObject, Outcome } from '../types';
import type { Said } from './saved';
import { plain } from './talk-text';

/** What a turn answers, beside the variables of its session. */
const ANSWERED = ['status', 'awaiting', 'debug', 'turn', 'vars'];

/** Writes what happens as a talk does: a short form where nothing of it is lost, else the event itself. */
export function happening({ event: text, message }: Said): string {
  const event = eventOf(text);
  if (!event) return message;
  return short(event) ?? text ?? '';
}

/** The line that says where a session of a flow stands. */
export function standsAt({ intent, state, flow }: Outcome): string[] {
  if (intent && state) return [`= ${intent} / ${state}`];
  return [`? status = ${JSON.stringify(flow?.status ?? null)}`];
}

/** A value of a session as a talk asserts it: a variable, unless it names another part of the answer. */
export function valueOf(wish: string, outcome: Outcome): string {
  const path = ANSWERED.includes(wish.split('.')[0] ?? '') ? wish : `vars.${wish}`;
  let found: Json | undefined = { ...(outcome.flow as unknown as JsonObject), vars: sessionOf({ outcome })?.vars ?? {} };
  for (const name of path.split('.')) {
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as JsonObject)[name] : undefined;
  }
  return `? ${path} = ${JSON.stringify(found ?? null)}`;
}

function short(event: FlowEvent): string | undefined {
  const { type: _, ...rest } = event;
  const only = Object.keys(rest).length === 1;
  switch (event.type) {
    case 'session.start':
      return Object.keys(rest).length === 0 ? '/start' : `/start ${JSON.stringify(rest)}`;
    case 'user.message':
      return only && plain(event.text, /^[{@+/]/) ? event.text : undefined;
    case 'user.button':
      return only ? `/press ${event.button_id}` : undefined;
    case 'timer.fired':
      return `/timer ${event.timer_id}`;
    case 'approval.decision':
      return Object.keys(rest).length === 2 ? `/${event.approved ? 'approve' : 'reject'} ${event.call_id}` : undefined;
    case 'session.end':
      return only ? undefined : '/end';
  }
}

import { isRunEvent, runEventText, type RunEvent } from '../chain/event';
import type { Json, JsonObject } from '../types';

/** An event sent to a flow session or to a run. */
export type FlowEvent =
  | RunEvent
  | { type: 'session.start'; trigger?: string; params?: JsonObject; locale?: string; time_zone?: string; channel?: string; user?: JsonObject; visitor?: JsonObject }
  | { type: 'user.message'; text: string }
  | { type: 'user.button'; button_id: string; value?: Json; label?: string }
  | { type: 'timer.fired'; timer_id: string }
  | { type: 'approval.decision'; call_id: string; approved: boolean; edited_args?: JsonObject; reason?: string }
  | { type: 'handoff.status'; state: HandoffReport; disposition?: 'resolved' | 'returned'; vars?: JsonObject; message?: string; author?: string }
  | { type: 'handoff.message'; text: string; author?: string }
  | { type: 'session.end'; reason?: string };

/** What the desk reports about a handoff. */
export type HandoffReport = 'accepted' | 'failed' | 'completed';

/** Starts a session. */
export const START_EVENT: FlowEvent = { type: 'session.start' };

const DESK_REPORTS = { accepted: 'accepted the conversation', failed: 'declined the conversation' };

/** Describes an event; for a message, its text. The result is part of the stored input of a turn. */
export function eventText(event: FlowEvent): string {
  if (isRunEvent(event)) return runEventText(event);
  switch (event.type) {
    case 'session.start':
      return 'Session started';
    case 'user.message':
      return event.text;
    case 'user.button':
      return event.label ?? event.button_id;
    case 'timer.fired':
      return `Timer ${event.timer_id.replaceAll('_', '-')} fired`;
    case 'approval.decision':
      return `${event.approved ? (event.edited_args ? 'Call approved with other arguments' : 'Call approved') : 'Call rejected'}${event.reason ? `: ${event.reason}` : ''}`;
    case 'handoff.status':
      return `${deskName(event.author)} ${event.state === 'completed' ? (event.disposition === 'returned' ? 'returned the conversation' : 'closed the conversation') : DESK_REPORTS[event.state]}`;
    case 'handoff.message':
      return `${deskName(event.author)} wrote`;
    case 'session.end':
      return 'Session ended';
    default:
      return (event as { type: string }).type;
  }
}

function deskName(author: string | undefined): string {
  return author ? `${author} (desk)` : 'The desk';
}

/** Parses a stored event. */
export function parseEvent(text: string | undefined): FlowEvent | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as FlowEvent);
}

/** Whether an event is a message or a button press of the user. */
export function isUserEvent(event: FlowEvent | undefined): boolean {
  return event === undefined || event.type === 'user.message' || event.type === 'user.button' || (event.type === 'run.resume' && event.text !== undefined);
}

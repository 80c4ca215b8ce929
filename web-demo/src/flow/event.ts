import type { Json, JsonObject } from '../types';

/** What happens to a session of a flow. */
export type FlowEvent =
  | { type: 'session.start'; params?: JsonObject; locale?: string; channel?: string; user?: JsonObject }
  | { type: 'user.message'; text: string }
  | { type: 'user.button'; button_id: string; value?: Json; label?: string }
  | { type: 'timer.fired'; timer_id: string }
  | { type: 'approval.decision'; call_id: string; approved: boolean; edited_args?: JsonObject; reason?: string }
  | { type: 'session.end'; reason?: string };

/** The beginning of a session. */
export const START: FlowEvent = { type: 'session.start' };

/** Says in a few words what happens; of a message, what it says. */
export function eventWords(event: FlowEvent): string {
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
    case 'session.end':
      return 'Session ended';
    default:
      return (event as { type: string }).type;
  }
}

/** Reads an event as it was sent; nothing where there is none. */
export function eventOf(text: string | undefined): FlowEvent | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as FlowEvent);
}

/** Whether it is something that a person says or presses, rather than what happens around them. */
export function isSpoken(event: FlowEvent | undefined): boolean {
  return event === undefined || event.type === 'user.message' || event.type === 'user.button';
}

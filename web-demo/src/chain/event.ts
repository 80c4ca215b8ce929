/** The events of a run. */
import type { Json, JsonObject } from '../types';

/** An event sent to a run. */
export type RunEvent =
  | { type: 'chain.start'; trigger: { kind: 'manual' | 'webhook' | 'schedule'; body?: Json; at?: string } }
  | { type: 'run.resume'; step?: string; decision?: string; fields?: JsonObject; comment?: string; by?: string; text?: string }
  | { type: 'run.ingress'; step: string; body: Json }
  | { type: 'run.cancel'; reason?: string }
  | { type: 'run.retry' }
  | { type: 'run.token' };

/** The types of the events that only runs have. */
const TYPES = ['chain.start', 'run.resume', 'run.ingress', 'run.cancel', 'run.retry', 'run.token'];

/** Whether an event is one that only runs have. */
export function isRunEvent(event: { type: string }): event is RunEvent {
  return TYPES.includes(event.type);
}

/** Describes an event of a run; for a message, its text. */
export function runEventText(event: RunEvent): string {
  switch (event.type) {
    case 'chain.start':
      return { manual: 'Run started', webhook: 'Run started by a webhook', schedule: 'Run started by its schedule' }[event.trigger.kind];
    case 'run.resume':
      return event.text ?? `${event.by || 'A person'} decided${event.decision ? `: ${event.decision}` : ''}`;
    case 'run.ingress':
      return `Webhook received for ${event.step}`;
    case 'run.cancel':
      return `Run cancelled${event.reason ? `: ${event.reason}` : ''}`;
    case 'run.retry':
      return 'Run retried';
    case 'run.token':
      return 'Resume token replaced';
  }
}

/** Talk lines of a flow: the event of a turn and the session after it. */
import { isRunEvent, type RunEvent } from '../chain/event';
import { parseEvent, type FlowEvent } from '../flow/event';
import { readFlowSession } from '../flow/session';
import type { Json, JsonObject, Outcome } from '../types';
import type { UserInput } from './turn-data';
import { isPlain } from './talk-text';

/** Members of a flow answer that are not session variables. */
const ANSWER_MEMBERS = ['status', 'awaiting', 'debug', 'turn', 'vars', 'run', 'error'];

/** Formats the event of a turn: in short form where that loses nothing, else as JSON. */
export function eventLine({ event: text, message }: UserInput): string {
  const event = parseEvent(text);
  if (!event) return message;
  if (isRunEvent(event)) return runForm(event);
  return shortForm(event) ?? text ?? '';
}

/** Formats the line that asserts the position of a flow session. */
export function flowPositionLines({ intent, state, flow }: Outcome): string[] {
  if (intent && state) return [`= ${intent} / ${state}`];
  return [`? status = ${JSON.stringify(flow?.status ?? null)}`];
}

/** Formats the assertion of a session value: a variable, unless the name is another member of the answer. */
export function valueLine(name: string, outcome: Outcome): string {
  const path = ANSWER_MEMBERS.includes(name.split('.')[0] ?? '') ? name : `vars.${name}`;
  let found: Json | undefined = { ...(outcome.flow as unknown as JsonObject), vars: readFlowSession({ outcome })?.vars ?? {} };
  for (const member of path.split('.')) {
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, member) ? (found as JsonObject)[member] : undefined;
  }
  return found === undefined ? `?! ${path}` : `? ${path} = ${JSON.stringify(found)}`;
}

function shortForm(event: Exclude<FlowEvent, RunEvent>): string | undefined {
  const { type: _, ...rest } = event;
  const only = Object.keys(rest).length === 1;
  switch (event.type) {
    case 'session.start':
      return Object.keys(rest).length === 0 ? '/start' : `/start ${JSON.stringify(rest)}`;
    case 'user.message':
      return only && isPlain(event.text, /^[{@+/]/) ? event.text : undefined;
    case 'user.button':
      return only ? `/press ${event.button_id}` : undefined;
    case 'timer.fired':
      return `/timer ${event.timer_id}`;
    case 'approval.decision':
      return Object.keys(rest).length === 2 ? `/${event.approved ? 'approve' : 'reject'} ${event.call_id}` : undefined;
    case 'handoff.status':
    case 'handoff.message':
      return undefined;
    case 'session.end':
      return only ? undefined : '/end';
  }
}

/** Formats the event of a run. The talk starts runs of schedules by hand. */
function runForm(event: RunEvent): string {
  switch (event.type) {
    case 'chain.start': {
      const { kind, body } = event.trigger;
      if (kind === 'webhook' && typeof body === 'object' && body !== null && !Array.isArray(body)) return `/ingress ${JSON.stringify(body)}`;
      return body === undefined || body === null ? '/run' : `/run ${JSON.stringify(body)}`;
    }
    case 'run.resume': {
      const { type: _, ...rest } = event;
      const only = Object.keys(rest).length === 1;
      return only && event.text !== undefined && isPlain(event.text, /^[@+/]/) ? event.text : `/resume ${JSON.stringify(rest)}`;
    }
    case 'run.ingress':
      return `/ingress ${event.step} ${JSON.stringify(event.body)}`;
    case 'run.cancel':
      return event.reason === undefined ? '/cancel' : `/cancel ${JSON.stringify({ reason: event.reason })}`;
    case 'run.retry':
      return '/retry';
    case 'run.token':
      return '/token';
  }
}

/** The desk's side of a handoff, which the designer plays. */
import { formatDuration } from '../format';
import type { Json, JsonObject } from '../types';
import { isUserEvent, parseEvent, type FlowEvent } from './event';
import type { FlowAnswer, Handoff } from './session';

/** A variable that the desk returns, as typed. */
export interface ReturnedVariable {
  name: string;
  value: string;
}

/** Creates the events of a person at the desk. An empty author is left out. */
export function deskEvents(author: string) {
  const by = author.trim() ? { author: author.trim() } : {};
  const saying = (text: string) => (text.trim() ? { message: text.trim() } : {});
  return {
    accept: (): FlowEvent => ({ type: 'handoff.status', state: 'accepted', ...by }),
    decline: (text: string): FlowEvent => ({ type: 'handoff.status', state: 'failed', ...saying(text), ...by }),
    message: (text: string): FlowEvent => ({ type: 'handoff.message', text, ...by }),
    finish: (disposition: 'resolved' | 'returned', returned: ReturnedVariable[], text: string): FlowEvent => {
      const vars: JsonObject = Object.fromEntries(returned.map(({ name, value }) => [name, parseValue(value)]));
      return { type: 'handoff.status', state: 'completed', disposition, ...(returned.length > 0 ? { vars } : {}), ...saying(text), ...by };
    },
  };
}

/** Reads a typed value: JSON, or else text. */
export function parseValue(typed: string): Json {
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return typed;
  }
}

/** Lists what is known of a handoff, by name; `at` is the conversation's clock. */
export function handoffFacts(handoff: Handoff, at: number): [name: string, value: string][] {
  const { state, queue, reason, ticket, position, eta_ms: expected, author, requested_at: since } = handoff;
  const waited = at - Date.parse(since);
  const wait = waited > 0 ? formatWait(waited) : 'this turn';
  const facts: [string, string | undefined][] = [
    ['State', state === 'queued' ? 'waiting for a person' : 'accepted'],
    ['With', author],
    ['Queue', queue],
    ['Reason', reason],
    ['Ticket', ticket],
    ['Position', position?.toString()],
    ['Expected wait', expected === undefined ? undefined : formatWait(expected)],
    state === 'queued' ? ['Waiting for', wait] : ['Requested', waited > 0 ? `${wait} ago` : wait],
  ];
  return facts.flatMap(([name, value]) => (value ? [[name, value]] : []));
}

const MINUTE_MS = 60_000;

/** Formats a wait, in minutes from two minutes on. */
function formatWait(milliseconds: number): string {
  return milliseconds < 2 * MINUTE_MS ? formatDuration(milliseconds) : `${Math.round(milliseconds / MINUTE_MS)} min`;
}

/** What became of a turn during a handoff, in one line; empty for other turns. */
export function handoffNote(input: { event?: string }, before: FlowAnswer | undefined, after: FlowAnswer | undefined): string {
  const warnings = after?.debug.warnings ?? [];
  if (warnings.includes('handoff.late')) return 'Ignored: nothing is handed off any more.';
  if (warnings.includes('handoff.taken')) return 'Ignored: another person has the conversation.';
  if (!after || before?.status !== 'handed_off' || !isUserEvent(parseEvent(input.event))) return '';
  return warnings.includes('handoff.relay_failed') ? 'Not delivered to the desk' : 'Relayed to the desk';
}

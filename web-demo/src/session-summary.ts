import type { Json, JsonObject } from './types';

/** One line of a session summary. */
export interface SummaryLine {
  name: string;
  value: string;
  /** Whether the next message may resolve it. */
  open: boolean;
}

/** Summarises a session: position, collected values, open questions and memory. */
export function summarizeSession(session: JsonObject): SummaryLine[] {
  if (Array.isArray(session['stack'])) return summarizeFlow(session);
  const context = asObject(session['context']);
  const facts: [name: string, value: string, open?: boolean][] = [
    ['Position', [session['intent'], session['state']].filter(Boolean).join(' / ')],
    ['Values', formatValues(session)],
    ['Missing', asTexts(session['missingRequiredFields']).join(', '), true],
    ['Intent lock', asText(session['intentLockReason']), true],
    ['Question', asText(session['pendingClarificationQuestion']), true],
    ['Pending action', ...formatPendingAction(asObject(context['pending_action_runtime']))],
    ['Awaiting approval', asText(asObject(context['guardrail_pending'])['text']), true],
    ['Memory', asText(asObject(context['memory'])['session_summary'])],
  ];
  return facts.filter((it) => it[1] !== '').map(([name, value, open = false]) => ({ name, value, open }));
}

/** Summarises a flow session. */
function summarizeFlow(session: JsonObject): SummaryLine[] {
  const stack = session['stack'] as Json[];
  const awaiting = asObject(session['awaiting']);
  const vars = Object.entries(asObject(session['vars'])).filter(([key, value]) => !key.startsWith('_') && value !== null);
  const facts: [name: string, value: string, open?: boolean][] = [
    ['Position', stack.map((it) => `${asText(asObject(it)['graph'])}/${asText(asObject(it)['node'])}`).join(' › ')],
    ['Status', asText(session['status'])],
    ['Awaiting', [asText(awaiting['kind']), asText(awaiting['variable'])].filter(Boolean).join(' '), true],
    ['Values', vars.map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ')],
  ];
  return facts.filter((it) => it[1] !== '').map(([name, value, open = false]) => ({ name, value, open }));
}

/** Omits the copy of the context that stands in for the values while no schema is known. */
export function withoutContextCopy(session: JsonObject): JsonObject {
  if (hasSchema(session)) return session;
  const { schemaJson: _, ...rest } = session;
  return rest;
}

function formatValues(session: JsonObject): string {
  const collected = hasSchema(session) ? Object.entries(asObject(session['schemaJson'])) : [];
  // Missing or withdrawn values are null.
  const known = collected.filter(([, value]) => value !== null);
  return known.map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ');
}

/** Whether a schema is active; without one the values equal the whole context. */
function hasSchema(session: JsonObject): boolean {
  return JSON.stringify(session['schemaJson']) !== JSON.stringify(session['context']);
}

function formatPendingAction(runtime: JsonObject): [value: string, open: boolean] {
  const status = asText(runtime['status']);
  const name = asText(runtime['action_key']) || asText(runtime['action_ref']);
  const until = runtime['expires_turn'];
  const open = status === 'OPEN' || status === 'IN_PROGRESS';
  const limit = open && typeof until === 'number' && until > 0 ? `, expires in turn ${until}` : '';
  return [status && `${name} ${status}${limit}`, open];
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function asTexts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((it) => typeof it === 'string') : [];
}

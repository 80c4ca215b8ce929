import type { Json, JsonObject } from './types';

/** One line of how a conversation stands. */
export interface Fact {
  name: string;
  value: string;
  /** Whether something is open that the next message may settle. */
  open: boolean;
}

/** Sums up how a conversation stands: where it is, what is collected, what waits for an answer, what is remembered. */
export function standing(session: JsonObject): Fact[] {
  if (Array.isArray(session['stack'])) return ofFlow(session);
  const context = object(session['context']);
  const facts: [name: string, value: string, open?: boolean][] = [
    ['At', [session['intent'], session['state']].filter(Boolean).join(' / ')],
    ['Values', values(session)],
    ['Missing', strings(session['missingRequiredFields']).join(', '), true],
    ['Intent held', text(session['intentLockReason']), true],
    ['Question', text(session['pendingClarificationQuestion']), true],
    ['Pending action', ...pending(object(context['pending_action_runtime']))],
    ['For approval', text(object(context['guardrail_pending'])['text']), true],
    ['Remembered', text(object(context['memory'])['session_summary'])],
  ];
  return facts.filter((it) => it[1] !== '').map(([name, value, open = false]) => ({ name, value, open }));
}

/** How a session of a flow stands. */
function ofFlow(session: JsonObject): Fact[] {
  const stack = session['stack'] as Json[];
  const awaiting = object(session['awaiting']);
  const vars = Object.entries(object(session['vars'])).filter(([key, value]) => !key.startsWith('_') && value !== null);
  const facts: [name: string, value: string, open?: boolean][] = [
    ['At', stack.map((it) => `${text(object(it)['graph'])}/${text(object(it)['node'])}`).join(' › ')],
    ['Status', text(session['status'])],
    ['Waits for', [text(awaiting['kind']), text(awaiting['variable'])].filter(Boolean).join(' '), true],
    ['Values', vars.map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ')],
  ];
  return facts.filter((it) => it[1] !== '').map(([name, value, open = false]) => ({ name, value, open }));
}

/** Leaves out the second copy of the context that stands for the values while no schema is known. */
export function withoutCopy(session: JsonObject): JsonObject {
  if (hasSchema(session)) return session;
  const { schemaJson: _, ...rest } = session;
  return rest;
}

function values(session: JsonObject): string {
  const collected = hasSchema(session) ? Object.entries(object(session['schemaJson'])) : [];
  // What was asked for in vain, or taken back, stands there as null.
  const known = collected.filter(([, value]) => value !== null);
  return known.map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', ');
}

/** Without a schema the values are the whole context, which holds more than any schema asks for. */
function hasSchema(session: JsonObject): boolean {
  return JSON.stringify(session['schemaJson']) !== JSON.stringify(session['context']);
}

function pending(runtime: JsonObject): [value: string, open: boolean] {
  const status = text(runtime['status']);
  const name = text(runtime['action_key']) || text(runtime['action_ref']);
  const until = runtime['expires_turn'];
  const open = status === 'OPEN' || status === 'IN_PROGRESS';
  const limit = open && typeof until === 'number' && until > 0 ? `, lapses in turn ${until}` : '';
  return [status && `${name} ${status}${limit}`, open];
}

function object(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((it) => typeof it === 'string') : [];
}

import type { ErrorKind } from '../effects/outcome';
import { mcpCall } from '../mcp/call';
import type { Effect, JsonObject } from '../types';

/** The name of a fault. */
export type FaultName = keyof typeof FAULTS;

/** The answer of a knowledge base that has no match. */
export const EMPTY_SEARCH = '{"ok":{"kind":"knowledge","stats":{"chunks":0,"total_length":0,"frequencies":[]},"keyword":[],"passages":[]}}';

/** A fault to inject, with its delay if it has one. */
export interface Fault {
  name: FaultName;
  delayMs?: number;
}

/** The result of a fault: another outcome, a delayed one, a canceled turn, or a crashed process. */
export type FaultResult = { outcome: string } | { delayMs: number } | { cancel: true } | { crash: true };

type ApplyFault = (effect: Effect, outcome: () => string) => FaultResult;

interface FaultKind {
  title: string;
  group: 'Failure' | 'Bad answer' | 'Time and process';
  /** The effect kinds that it applies to; absent for all. */
  effectKinds?: string[];
  /** Whether it applies to tools of MCP servers only. */
  isMcp?: true;
  apply: ApplyFault;
}

const failWith = (kind: ErrorKind | 'interrupted', message: string, more: JsonObject = {}): ApplyFault =>
  () => ({ outcome: JSON.stringify({ error: { kind, message, ...more } }) });

const replyWithStatus = (code: number, more: JsonObject = {}): ApplyFault => (effect) => {
  if (effect.request.kind === 'http') return okOutcome({ kind: 'http', status: code, body: `{"error":"HTTP ${code}"}`, retry_after_ms: null, ...more });
  const kind = code === 429 ? 'limited' : 'unavailable';
  return { outcome: JSON.stringify({ error: { kind, message: `the service answered with ${code}`, status: code, ...more } }) };
};

const replyWithText = (words: string | ((effect: Effect, normal: string) => string)): ApplyFault => (effect, outcome) => {
  const text = typeof words === 'string' ? words : words(effect, normalText(outcome()));
  switch (effect.request.kind) {
    case 'http':
      return okOutcome({ kind: 'http', status: 200, body: text, retry_after_ms: null });
    case 'tool':
      return okOutcome({ kind: 'tool', text });
    default:
      return okOutcome({ kind: 'llm', text, provider: 'scripted', model: 'scripted' });
  }
};

const failScript = (code: string, message: string): ApplyFault =>
  () => okOutcome({ kind: 'script', logs: [], failure: { code, message } });

const TEXT_KINDS = ['llm', 'tool', 'http'];

/** All faults by name, in display order. */
export const FAULTS = {
  timeout: { title: 'Timeout', group: 'Failure', apply: failWith('timeout', 'no answer came in time') },
  unreachable: { title: 'Connection refused', group: 'Failure', apply: failWith('unavailable', 'connection refused') },
  status_429: { title: 'HTTP 429, retry after 2 s', group: 'Failure', effectKinds: ['llm', 'http', 'tool', 'embed'], apply: replyWithStatus(429, { retry_after_ms: 2000 }) },
  status_500: { title: 'HTTP 500', group: 'Failure', effectKinds: ['llm', 'http', 'tool', 'embed'], apply: replyWithStatus(500) },
  status_503: { title: 'HTTP 503', group: 'Failure', effectKinds: ['llm', 'http', 'tool', 'embed'], apply: replyWithStatus(503) },
  denied: { title: 'Unauthorized', group: 'Failure', apply: failWith('denied', 'the credentials were not accepted') },
  mcp_changed: { title: 'Tool changed since its approval', group: 'Failure', isMcp: true, apply: failWith('refused', 'the tool is not what was approved: its description changed; review and approve it again', { detail: 'tool_changed' }) },
  mcp_denied: { title: 'Tool not approved', group: 'Failure', isMcp: true, apply: failWith('denied', 'the tool is not approved', { detail: 'tool_denied' }) },
  mcp_tool_error: { title: 'Error of the tool', group: 'Failure', isMcp: true, apply: failWith('refused', 'the tool answered with an error: no such record', { detail: 'tool_error' }) },
  mcp_too_large: { title: 'Result too large', group: 'Failure', isMcp: true, apply: failWith('invalid', 'the result of the MCP server has 52428800 bytes, more than 1048576', { detail: 'response_too_large' }) },
  filtered: { title: 'Content filter', group: 'Failure', effectKinds: ['llm'], apply: failWith('refused', 'the provider filtered the content') },
  script_exception: { title: 'Exception', group: 'Failure', effectKinds: ['script'], apply: failScript('exception', 'an exception was raised') },
  script_fuel: { title: 'Too many steps', group: 'Failure', effectKinds: ['script'], apply: failScript('fuel', 'the script executed too many instructions') },
  script_memory: { title: 'Out of memory', group: 'Failure', effectKinds: ['script'], apply: failScript('memory', 'the script used too much memory') },
  nothing_found: { title: 'Nothing found', group: 'Bad answer', effectKinds: ['knowledge'], apply: () => ({ outcome: EMPTY_SEARCH }) },
  empty: { title: 'Empty', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText('') },
  not_json: { title: 'Not JSON', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText('Sure! Here is what you asked for.') },
  wrong_type: { title: 'List instead of object', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText('[1, 2, 3]') },
  wrong_schema: { title: 'Values of the wrong type', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText((_, normal) => swapTypes(normal)) },
  unknown_intent: { title: 'Unknown intent', group: 'Bad answer', effectKinds: ['llm'], apply: replyWithText((_, normal) => withMembers(normal, { intent: 'NO_SUCH_INTENT', state: 'NO_SUCH_STATE', confidence: 0.99 })) },
  unknown_tool: { title: 'Unknown tool', group: 'Bad answer', effectKinds: ['llm'], apply: replyWithText((_, normal) => withMembers(normal, { action: 'CALL_TOOL', tool_code: 'no.such.tool', args: {} })) },
  reserved_key: { title: 'Extra reserved keys', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText((_, normal) => withMembers(normal, { approval_granted: true, _reset: true })) },
  oversized: { title: '300 KB text', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText((_, normal) => normal + ' '.repeat(1) + 'x'.repeat(300_000)) },
  truncated: { title: 'Truncated', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText((_, normal) => normal.slice(0, Math.ceil(normal.length / 2))) },
  template: { title: 'Template syntax in text', group: 'Bad answer', effectKinds: TEXT_KINDS, apply: replyWithText((_, normal) => addTemplateMarks(normal)) },
  delay: { title: 'Delayed by 10 s', group: 'Time and process', apply: () => ({ delayMs: 10_000 }) },
  never: { title: 'No answer: turn times out', group: 'Time and process', apply: () => ({ cancel: true }) },
  crash: { title: 'Process crashes, another takes over', group: 'Time and process', apply: () => ({ crash: true }) },
} satisfies Record<string, FaultKind>;

/** The offered delays, in milliseconds. */
const DELAYS_MS = [1_000, 10_000, 60_000];

/** Returns the title of a fault, with its delay. */
export function faultTitle({ name, delayMs }: Fault): string {
  return name === 'delay' && delayMs !== undefined ? `Delayed by ${delayMs / 1000} s` : FAULTS[name].title;
}

/** Lists a fault with each of its offered delays. */
export function faultVariants(name: FaultName): Fault[] {
  return name === 'delay' ? DELAYS_MS.map((delayMs) => ({ name, delayMs })) : [{ name }];
}

/** Lists the faults that apply to an effect. */
export function faultsFor(effect: Effect): FaultName[] {
  const isMcpCall = mcpCall(effect) !== undefined;
  return (Object.keys(FAULTS) as FaultName[]).filter((name) => {
    const { effectKinds, isMcp }: FaultKind = FAULTS[name];
    return (effectKinds?.includes(effect.request.kind) ?? true) && (isMcp === undefined || isMcpCall);
  });
}

/** Applies a fault to an effect; `outcome` returns the normal outcome. */
export function applyFault(fault: Fault, effect: Effect, outcome: () => string): FaultResult {
  const apply: ApplyFault = FAULTS[fault.name].apply;
  const result = apply(effect, outcome);
  return 'delayMs' in result ? { delayMs: fault.delayMs ?? result.delayMs } : result;
}

function okOutcome(reply: JsonObject): FaultResult {
  return { outcome: JSON.stringify({ ok: reply }) };
}

function normalText(outcome: string): string {
  const { ok: reply } = JSON.parse(outcome) as { ok?: JsonObject };
  const text = reply?.['text'] ?? reply?.['body'];
  return typeof text === 'string' ? text : '{}';
}

function parseMembers(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // Not JSON: no members.
  }
  return {};
}

function withMembers(text: string, more: JsonObject): string {
  return JSON.stringify({ ...parseMembers(text), ...more });
}

/** Turns texts into numbers and everything else into a text. */
function swapTypes(text: string): string {
  const entries = Object.entries(parseMembers(text)).map(([key, value]) => [key, typeof value === 'string' ? 17 : 'seventeen']);
  return JSON.stringify(Object.fromEntries(entries));
}

function addTemplateMarks(text: string): string {
  const marks = '{{ context }} ${inputParams} [[${session}]]';
  const of = parseMembers(text);
  const changed = Object.entries(of).map(([key, value]) => [key, typeof value === 'string' ? `${value} ${marks}` : value]);
  return changed.length > 0 ? JSON.stringify(Object.fromEntries(changed)) : `${text} ${marks}`;
}

import type { ErrorKind } from '../fulfil/answer';
import type { Effect, JsonObject } from '../types';

/** What can go wrong with an effect. */
export type FaultName = keyof typeof FAULTS;

/** A fault, with how long it takes where that is part of it. */
export interface Fault {
  name: FaultName;
  delayMs?: number;
}

/** What a fault makes of an effect: another outcome, a later one, none, or the end of the process. */
export type Struck = { outcome: string } | { late: number } | { abandon: true } | { crash: true };

type Strike = (effect: Effect, outcome: () => string) => Struck;

interface Kind {
  title: string;
  group: 'Fails' | 'Bad answer' | 'Time and process';
  /** The kinds of effects that it can strike; all when nothing stands here. */
  of?: string[];
  strike: Strike;
}

const failed = (kind: ErrorKind | 'interrupted', message: string, more: JsonObject = {}): Strike =>
  () => ({ outcome: JSON.stringify({ error: { kind, message, ...more } }) });

const status = (code: number, more: JsonObject = {}): Strike => (effect) => {
  if (effect.request.kind === 'http') return ok({ kind: 'http', status: code, body: `{"error":"HTTP ${code}"}`, retry_after_ms: null, ...more });
  const kind = code === 429 ? 'limited' : 'unavailable';
  return { outcome: JSON.stringify({ error: { kind, message: `the service answered with ${code}`, status: code, ...more } }) };
};

const says = (words: string | ((effect: Effect, usual: string) => string)): Strike => (effect, outcome) => {
  const text = typeof words === 'string' ? words : words(effect, usualText(outcome()));
  switch (effect.request.kind) {
    case 'http':
      return ok({ kind: 'http', status: 200, body: text, retry_after_ms: null });
    case 'tool':
      return ok({ kind: 'tool', text });
    default:
      return ok({ kind: 'llm', text, provider: 'scripted', model: 'scripted' });
  }
};

const TEXTS = ['llm', 'tool', 'http'];

/** Every fault by its name, in the order in which people are offered them. */
export const FAULTS = {
  timeout: { title: 'Time-out', group: 'Fails', strike: failed('timeout', 'no answer came in time') },
  unreachable: { title: 'Connection refused', group: 'Fails', strike: failed('unavailable', 'connection refused') },
  status_429: { title: 'HTTP 429, try again after 2 s', group: 'Fails', of: ['llm', 'http', 'tool', 'embed'], strike: status(429, { retry_after_ms: 2000 }) },
  status_500: { title: 'HTTP 500', group: 'Fails', of: ['llm', 'http', 'tool', 'embed'], strike: status(500) },
  status_503: { title: 'HTTP 503', group: 'Fails', of: ['llm', 'http', 'tool', 'embed'], strike: status(503) },
  denied: { title: 'Not authorised', group: 'Fails', strike: failed('denied', 'the credentials were not accepted') },
  filtered: { title: 'Content filter', group: 'Fails', of: ['llm'], strike: failed('refused', 'the provider filtered the content') },
  empty: { title: 'Empty', group: 'Bad answer', of: TEXTS, strike: says('') },
  not_json: { title: 'Not JSON', group: 'Bad answer', of: TEXTS, strike: says('Sure! Here is what you asked for.') },
  wrong_type: { title: 'A list where an object is expected', group: 'Bad answer', of: TEXTS, strike: says('[1, 2, 3]') },
  wrong_schema: { title: 'Values of the wrong type', group: 'Bad answer', of: TEXTS, strike: says((_, usual) => twisted(usual)) },
  unknown_intent: { title: 'Unknown intent', group: 'Bad answer', of: ['llm'], strike: says((_, usual) => withMember(usual, { intent: 'NO_SUCH_INTENT', state: 'NO_SUCH_STATE', confidence: 0.99 })) },
  unknown_tool: { title: 'Unknown tool', group: 'Bad answer', of: ['llm'], strike: says((_, usual) => withMember(usual, { action: 'CALL_TOOL', tool_code: 'no.such.tool', args: {} })) },
  reserved_key: { title: 'An extra reserved key', group: 'Bad answer', of: TEXTS, strike: says((_, usual) => withMember(usual, { approval_granted: true, _reset: true })) },
  oversized: { title: '300 KB long', group: 'Bad answer', of: TEXTS, strike: says((_, usual) => usual + ' '.repeat(1) + 'x'.repeat(300_000)) },
  truncated: { title: 'Cut off in the middle', group: 'Bad answer', of: TEXTS, strike: says((_, usual) => usual.slice(0, Math.ceil(usual.length / 2))) },
  template: { title: 'Template marks in the text', group: 'Bad answer', of: TEXTS, strike: says((_, usual) => marked(usual)) },
  delay: { title: 'Late by 10 s', group: 'Time and process', strike: () => ({ late: 10_000 }) },
  never: { title: 'Never comes: the turn is given up', group: 'Time and process', strike: () => ({ abandon: true }) },
  crash: { title: 'The process ends, another takes over', group: 'Time and process', strike: () => ({ crash: true }) },
} satisfies Record<string, Kind>;

/** How late an answer may be made, in milliseconds. */
const DELAYS_MS = [1_000, 10_000, 60_000];

/** Says what a fault does, with how long it takes where that is part of it. */
export function faultTitle({ name, delayMs }: Fault): string {
  return name === 'delay' && delayMs !== undefined ? `Late by ${delayMs / 1000} s` : FAULTS[name].title;
}

/** Gives a fault with each of the times that it may take. */
export function variants(name: FaultName): Fault[] {
  return name === 'delay' ? DELAYS_MS.map((delayMs) => ({ name, delayMs })) : [{ name }];
}

/** Names the faults that can strike an effect. */
export function faultsFor(effect: Effect): FaultName[] {
  return (Object.keys(FAULTS) as FaultName[]).filter((it) => (FAULTS[it] as Kind).of?.includes(effect.request.kind) ?? true);
}

/** Says what a fault makes of an effect; `outcome` gives what would have come. */
export function struck(fault: Fault, effect: Effect, outcome: () => string): Struck {
  const strike: Strike = FAULTS[fault.name].strike;
  const found = strike(effect, outcome);
  return 'late' in found ? { late: fault.delayMs ?? found.late } : found;
}

function ok(reply: JsonObject): Struck {
  return { outcome: JSON.stringify({ ok: reply }) };
}

function usualText(outcome: string): string {
  const { ok: reply } = JSON.parse(outcome) as { ok?: JsonObject };
  const text = reply?.['text'] ?? reply?.['body'];
  return typeof text === 'string' ? text : '{}';
}

function members(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch {
    // What is no JSON has no members.
  }
  return {};
}

function withMember(text: string, more: JsonObject): string {
  return JSON.stringify({ ...members(text), ...more });
}

/** Numbers become words and words become numbers. */
function twisted(text: string): string {
  const entries = Object.entries(members(text)).map(([key, value]) => [key, typeof value === 'string' ? 17 : 'seventeen']);
  return JSON.stringify(Object.fromEntries(entries));
}

function marked(text: string): string {
  const marks = '{{ context }} ${inputParams} [[${session}]]';
  const of = members(text);
  const changed = Object.entries(of).map(([key, value]) => [key, typeof value === 'string' ? `${value} ${marks}` : value]);
  return changed.length > 0 ? JSON.stringify(Object.fromEntries(changed)) : `${text} ${marks}`;
}

/** Checks of a talk: how they are parsed, and whether a played turn meets them. */
import { readFlowSession } from '../flow/session';
import type { AuditNotice, Json, JsonObject } from '../types';
import { listCalls } from './talk-answer';
import { afterMark, parseLineJson, requireText, splitAt, TalkError, type TalkLine } from './talk-line';
import type { FinishedTurn } from './turn-data';

/** A check. */
export type TalkCheck = { line: number } & (
  | { kind: 'reply' | 'reply_contains' | 'fails' | 'no_stage' | 'verbose' | 'no_verbose'; text: string }
  | { kind: 'reply_json'; json: string }
  | { kind: 'place'; intent: string; state: string }
  | { kind: 'stages' | 'calls'; names: string[] }
  | { kind: 'equals'; path: string; json: string }
  | { kind: 'contains' | 'lacks'; path: string; text: string }
  | { kind: 'absent'; path: string }
);

/** The result of checking a turn. */
export interface CheckResult {
  /** What was expected instead, one text for each failed check. */
  failed: string[];
  /** Checks of what this page does not know. */
  skipped: TalkCheck[];
}

/** Roots of paths that only a server or the core knows. */
const UNKNOWN_ROOTS = ['params', 'session', 'requests', 'row', 'calls'];
const HINT = 'write text that only looks like JSON as a JSON string';

/** Marks and how the rest of their line is parsed. A mark comes before its own prefixes. */
const MARKS: [mark: string, parse: (line: TalkLine) => TalkCheck][] = [
  ['<~', (it) => ({ line: it.number, kind: 'reply_contains', text: requireText(it, 'the text that the reply contains') })],
  ['<', parseReply],
  ['!', (it) => ({ line: it.number, kind: 'fails', text: requireText(it, 'the error code') })],
  ['=', parsePlace],
  ['~!', (it) => ({ line: it.number, kind: 'no_stage', text: requireText(it, 'the stage') })],
  ['~', (it) => ({ line: it.number, kind: 'stages', names: parseNames(it, 'a stage') })],
  ['?!', (it) => (it.text.includes(' ~ ') ? parsePathText(it, 'lacks') : { line: it.number, kind: 'absent', path: requireText(it, 'the path') })],
  ['?', parsePath],
  ['%!', (it) => ({ line: it.number, kind: 'no_verbose', text: requireText(it, 'the progress message') })],
  ['%', (it) => ({ line: it.number, kind: 'verbose', text: requireText(it, 'the progress message') })],
  ['$', (it) => ({ line: it.number, kind: 'calls', names: it.text === 'none' ? [] : parseNames(it, "a call or 'none'") })],
];

/** Parses a check; throws a `TalkError`. */
export function parseCheck(line: TalkLine): TalkCheck {
  for (const [mark, parse] of MARKS) {
    const rest = afterMark(line, mark);
    if (rest) return parse(rest);
  }
  throw new TalkError(line.number, 'expected an indented answer, or a line that begins with one of > < <~ ! = ~ ~! ? ?! % %! $ #');
}

/** Checks a played turn; a failure without a check fails the turn. */
export function checkTurn(turn: FinishedTurn, checks: TalkCheck[]): CheckResult {
  const { fault } = turn.outcome;
  const failed = fault && !checks.some((it) => it.kind === 'fails') ? [`it fails with ${fault.code}: ${fault.message}`] : [];
  const known = checks.filter((it) => !('path' in it) || !UNKNOWN_ROOTS.includes(rootOf(it.path)));
  return { failed: [...failed, ...known.flatMap((it) => evaluate(it, turn) ?? [])], skipped: checks.filter((it) => !known.includes(it)) };
}

function parseReply(line: TalkLine): TalkCheck {
  const { number, text } = line;
  if (/^[[{]/.test(text)) {
    parseLineJson(line, HINT);
    return { line: number, kind: 'reply_json', json: text };
  }
  return { line: number, kind: 'reply', text: text.startsWith('"') ? (jsonString(text) ?? text) : text };
}

function parsePlace(line: TalkLine): TalkCheck {
  const [intent, state] = splitAt(line, '/') ?? [];
  if (!intent || !state?.text || /\s/.test(intent) || /\s/.test(state.text)) throw new TalkError(line.number, 'expected INTENT / STATE');
  return { line: line.number, kind: 'place', intent, state: state.text };
}

function parsePath(line: TalkLine): TalkCheck {
  const [equals, contains] = [line.text.indexOf(' = '), line.text.indexOf(' ~ ')];
  if (contains >= 0 && (equals < 0 || contains < equals)) return parsePathText(line, 'contains');
  const [path, value] = splitAt(line, ' = ') ?? [];
  if (!path || !value) throw new TalkError(line.number, 'expected path = JSON or path ~ text');
  parseLineJson(value, 'write the value as JSON, and a string in quotes');
  return { line: line.number, kind: 'equals', path, json: value.text };
}

function parsePathText(line: TalkLine, kind: 'contains' | 'lacks'): TalkCheck {
  const [path, text] = splitAt(line, ' ~ ') ?? [];
  if (!path || !text) throw new TalkError(line.number, 'expected path ~ text');
  return { line: line.number, kind, path, text: requireText(text, 'the text') };
}

function parseNames(line: TalkLine, what: string): string[] {
  return line.text.split(',').map((it) => requireText({ ...line, text: it.trim() }, what));
}

function jsonString(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Describes how a turn differs from a check; `undefined` if it meets it. */
function evaluate(check: TalkCheck, turn: FinishedTurn): string | undefined {
  const { outcome, notices } = turn;
  const reply = outcome.payload?.value ?? '';
  const differs = (what: string, ours: unknown, expected: unknown) => `${what} is ${format(ours)} instead of ${format(expected)}`;
  const stages = () => notices.flatMap((it) => (it.kind === 'audit' ? [it.stage] : []));
  const messages = () => notices.flatMap((it) => (it.kind === 'verbose' ? [it.text] : []));
  switch (check.kind) {
    case 'reply':
      return reply === check.text ? undefined : differs('the reply', reply, check.text);
    case 'reply_contains':
      return reply.includes(check.text) ? undefined : `the reply ${format(reply)} does not contain ${format(check.text)}`;
    case 'reply_json':
      return isEqual(parseJson(reply), JSON.parse(check.json) as Json) ? undefined : differs('the reply', reply, check.json);
    case 'fails':
      return outcome.fault?.code === check.text ? undefined : `it ends with ${outcome.fault?.code ?? 'a reply'} instead of ${check.text}`;
    case 'place': {
      const [ours, expected] = [`${outcome.intent} / ${outcome.state}`, `${check.intent} / ${check.state}`];
      return ours === expected ? undefined : `it ends at ${ours} instead of ${expected}`;
    }
    case 'stages': {
      const left = stages();
      const missing = check.names.find((name) => !left.splice(0, left.indexOf(name) + 1).includes(name));
      return missing === undefined ? undefined : `the stage ${missing} is missing`;
    }
    case 'no_stage':
      return stages().includes(check.text) ? `there is a stage ${check.text}` : undefined;
    case 'verbose':
      return messages().includes(check.text) ? undefined : `the progress message ${format(check.text)} is missing`;
    case 'no_verbose':
      return messages().includes(check.text) ? `there is a progress message ${format(check.text)}` : undefined;
    case 'calls': {
      const calls = listCalls(turn.exchanges);
      return isEqual(calls, check.names) ? undefined : differs('the list of calls', calls.join(', ') || 'none', check.names.join(', ') || 'none');
    }
    case 'equals': {
      const [found, expected] = [valuesAt(check.path, turn), JSON.parse(check.json) as Json];
      return found.some((it) => isEqual(it, expected)) ? undefined : `${check.path} is ${found.length > 0 ? format(found[0]) : 'absent'} instead of ${format(expected)}`;
    }
    case 'absent': {
      const [found] = valuesAt(check.path, turn);
      return found === undefined ? undefined : `${check.path} is ${format(found)} instead of absent`;
    }
    case 'contains':
      return valuesAt(check.path, turn).some((it) => containsText(it, check.text)) ? undefined : `${check.path} does not contain ${format(check.text)}`;
    case 'lacks': {
      const found = valuesAt(check.path, turn).filter((it) => it !== null);
      return found.length > 0 && !found.some((it) => containsText(it, check.text)) ? undefined : `${check.path} is missing or contains ${format(check.text)}`;
    }
  }
}

function rootOf(path: string): string {
  return path.split('.')[0] ?? '';
}

/** The values at a path, none if nothing is there; a stage may be audited more than once. */
function valuesAt(path: string, { outcome, notices }: FinishedTurn): Json[] {
  if (rootOf(path) !== 'audit') return [valueAt(answerJson(outcome), path)].filter((it) => it !== undefined);
  const audit = notices.filter((it): it is AuditNotice => it.kind === 'audit');
  const rest = path.slice('audit.'.length);
  if (rest === '') return [audit.map((it) => [it.stage, it.payload])];
  // Names of stages may contain dots.
  return audit.flatMap(({ stage, payload }) => (rest === stage || rest.startsWith(`${stage}.`) ? [valueAt(payload, rest.slice(stage.length))] : [])).filter((it) => it !== undefined);
}

/** The answer to a message, as the server spells it. */
function answerJson(outcome: FinishedTurn['outcome']): JsonObject {
  const { conversation_id: conversationId, intent, state, payload, context, fault, flow } = outcome;
  const ended = { success: !fault, errorCode: fault?.code ?? null, recoverable: fault?.recoverable ?? false, message: fault?.message ?? null };
  const answer = { conversationId, intent, state, payload: payload && { ...payload }, context, ...ended };
  return flow ? { ...answer, ...(flow as unknown as JsonObject), vars: readFlowSession({ outcome })?.vars ?? {} } : answer;
}

function valueAt(value: Json, path: string): Json | undefined {
  let at: Json = value;
  for (const name of path.split('.').filter(Boolean)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name] ?? null;
  }
  return at;
}

function isEqual(ours: Json | undefined, expected: Json): boolean {
  if (typeof ours !== 'object' || typeof expected !== 'object' || ours === null || expected === null) return ours === expected;
  const [left, right] = [Object.entries(ours), Object.entries(expected)];
  return Array.isArray(ours) === Array.isArray(expected) && left.length === right.length && left.every(([key, it]) => Object.hasOwn(expected, key) && isEqual(it, (expected as JsonObject)[key] ?? null));
}

function containsText(value: Json, text: string): boolean {
  if (value === null) return false;
  return (typeof value === 'string' ? value : JSON.stringify(value)).includes(text);
}

function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function format(value: unknown): string {
  return typeof value === 'string' ? `“${value}”` : JSON.stringify(value);
}

/** Returns a check in the form of a pack. */
export function checkJson(check: TalkCheck): string {
  return `{"line":${check.line},${JSON.stringify(check.kind)}:${valueJson(check)}}`;
}

function valueJson(check: TalkCheck): string {
  if (check.kind === 'equals') return `{"path":${JSON.stringify(check.path)},"value":${check.json}}`;
  if (check.kind === 'reply_json') return check.json;
  if (check.kind === 'absent') return JSON.stringify(check.path);
  if ('names' in check) return JSON.stringify(check.names);
  if ('intent' in check) return JSON.stringify({ intent: check.intent, state: check.state });
  return JSON.stringify('path' in check ? { path: check.path, text: check.text } : check.text);
}

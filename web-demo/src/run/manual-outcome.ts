import { memberText } from '../json-text';
import type { Effect, JsonObject } from '../types';

/** Builds an outcome from the answer that a person typed. */
export function outcomeFromText(effect: Effect, text: string): string {
  const quoted = JSON.stringify(text);
  switch (effect.request.kind) {
    case 'llm':
      // Like the script, so that a talk with the same text has the same hashes.
      return `{"ok":{"kind":"llm","text":${quoted},"provider":"scripted","model":"scripted"}}`;
    case 'tool':
      return `{"ok":{"kind":"tool","text":${quoted}}}`;
    case 'http':
      return `{"ok":{"kind":"http","status":200,"body":${quoted},"retry_after_ms":null}}`;
    case 'container':
      return `{"ok":{"kind":"container","data":${toJson(text)}}}`;
    case 'task':
      return `{"ok":${withKind('task', toJson(text))}}`;
    default:
      return `{"ok":${withKind(effect.request.kind, toJson(text))}}`;
  }
}

/** Returns the part of an outcome that a person would type. */
export function textFromOutcome(outcome: string): string {
  const ok = memberText(outcome, 'ok');
  if (ok === undefined) return '';
  const reply = JSON.parse(ok) as JsonObject;
  for (const member of ['text', 'body'] as const) if (typeof reply[member] === 'string') return reply[member];
  if ('data' in reply) return memberText(ok, 'data') ?? '';
  const { kind: _, ...rest } = reply;
  return JSON.stringify(rest);
}

/** Returns JSON unchanged and any other text as a JSON string. */
function toJson(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function withKind(kind: string, value: string): string {
  const parsed = JSON.parse(value) as unknown;
  const members = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? value.trim().slice(1) : `"result":${value}}`;
  return `{"kind":${JSON.stringify(kind)}${members.trim() === '}' ? '' : ','}${members}`;
}

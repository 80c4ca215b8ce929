/** The failed calls of a turn, for the chat. */
import { effectTitle } from './exchange';
import type { AnsweredEffect } from './session/turn-data';
import { effectKind, KIND_LABELS } from './timeline/kind';
import type { Effect, JsonObject } from './types';

const FIRST_ERROR_STATUS = 400;

/** Describes each failed call in one line: what was called, why it failed, and how often. */
export function callFailures(exchanges: AnsweredEffect[]): string[] {
  const counts = new Map<string, number>();
  for (const { effect, completion } of exchanges) {
    const reason = 'error' in completion.outcome ? completion.outcome.error.message || completion.outcome.error.kind : (statusReason(effect, completion.outcome.ok) ?? scriptReason(completion.outcome.ok));
    if (reason === undefined) continue;
    const line = `${KIND_LABELS[effectKind(effect)]} ${effectTitle(effect)} failed: ${reason}`;
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  return [...counts].map(([line, count]) => (count === 1 ? line : `${line} (${count} times)`));
}

/** Describes why a script failed; `undefined` for any other answer. */
function scriptReason({ kind, failure }: JsonObject): string | undefined {
  if (kind !== 'script' || typeof failure !== 'object' || failure === null || Array.isArray(failure)) return undefined;
  const { code, message, line } = failure;
  return `${String(code)}${typeof line === 'number' ? ` in line ${line}` : ''}: ${String(message)}`;
}

/** Describes an error status; `undefined` for any other answer. */
function statusReason({ request }: Effect, { status }: JsonObject): string | undefined {
  if (request.kind !== 'http' || typeof status !== 'number' || status < FIRST_ERROR_STATUS) return undefined;
  const url = String(request['url']);
  return `HTTP ${status}${URL.canParse(url) ? ` from ${new URL(url).host}` : ''}`;
}

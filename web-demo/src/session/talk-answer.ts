/** Talk lines that answer the effects of a turn. */
import { parseSpans } from '../json-text';
import type { Effect, JsonObject, Outcome } from '../types';
import type { AnsweredEffect } from './turn-data';
import { durationText, toOneLine, isPlain } from './talk-text';

/** Error kinds that a talk can name. */
export const ERROR_KINDS = 'timeout unavailable refused invalid not_found denied circuit_open limited unsupported interrupted cancelled'.split(' ');
/** Members of a task's reply. */
export const TASK_MEMBERS = ['result', 'set_params', 'set_context', 'intent', 'state', 'payload', 'publish'];

/** Names the target of an effect as a talk does; undefined for effects that a talk cannot answer. */
export function effectTarget({ request }: Effect): string | undefined {
  const text = (key: string) => String(request[key] ?? '');
  const caller = request['caller'] as JsonObject | undefined;
  switch (request.kind) {
    case 'llm':
      return `llm ${text('purpose')}`;
    case 'task':
      return `task ${text('task')}`;
    case 'tool':
      return `tool ${text('tool_code') || text('tool_group')}`;
    case 'container':
      return `container ${text('pageId')}/${text('sectionId')}/${text('containerId')}`;
    case 'sql':
      return `tool ${text('tool_code')}`;
    case 'http':
      if (caller?.['tool'] !== undefined) return `tool ${String(caller['tool'])}`;
      return caller?.['task'] !== undefined ? `task ${String(caller['task'])}` : undefined;
    default:
      return undefined;
  }
}

/** Lists the calls of a turn in request order. */
export function listCalls(exchanges: AnsweredEffect[]): string[] {
  return sortByEffect(exchanges).flatMap((it) => effectTarget(it.effect)?.replace(/^llm /, '') ?? []);
}

/**
 * Selects the answers of each turn that the pack's script would not repeat.
 *
 * The answer of a talk goes to the first call of its target, and the script does not count that call. So the earlier answers of the
 * turn and all later ones to that target are selected as well.
 */
export function selectAnswers(turns: AnsweredEffect[][], all: boolean): AnsweredEffect[][] {
  const picked = new Set<string>();
  return turns.map((exchanges) => {
    for (const it of exchanges) if (!isScripted(it)) picked.add(effectTarget(it.effect) ?? '');
    return sortByEffect(exchanges).filter((it) => {
      const target = effectTarget(it.effect);
      return target === undefined ? !isScripted(it) : all || picked.has(target);
    });
  });
}

/** Whether the test runner would give this answer itself; it has databases, documents and files that a page lacks. */
function isScripted({ origin, effect, completion: { outcome } }: AnsweredEffect): boolean {
  // A knowledge base without sources finds nothing there either.
  if (effect.request.kind === 'knowledge' && origin === 'auto') return true;
  return origin === 'script' && !('error' in outcome && ['unsupported', 'not_found'].includes(outcome.error.kind));
}

/** Formats an answer; adds notes about what the line cannot express. */
export function answerLines(it: AnsweredEffect, outcome: Outcome, addNote: (sentence: string) => void): string[] {
  const target = effectTarget(it.effect);
  const { kind } = it.effect.request;
  if (target === undefined) {
    if (kind !== 'sleep') addNote(`the answer to the effect '${kind}' is omitted, because a talk cannot express it; the runner must provide one.`);
    return [];
  }
  if (!/^\S+ \S+$/.test(target)) {
    addNote(`the answer to '${target}' is omitted, because a talk cannot express this name.`);
    return [];
  }
  const answer = it.completion.outcome;
  const answerText = 'error' in answer ? failureText(answer.error, target, outcome, addNote) : replyText(it, target, answer.ok, addNote);
  const delay = it.delayMs > 0 ? ` ${durationText(Math.round(it.delayMs))}` : '';
  return [`  ${target} ${answerText}${delay}`];
}

function sortByEffect(exchanges: AnsweredEffect[]): AnsweredEffect[] {
  return exchanges.toSorted((a, b) => a.effect.id - b.effect.id);
}

function replyText(it: AnsweredEffect, target: string, ok: JsonObject, addNote: (sentence: string) => void): string {
  const text = (key: string) => (typeof ok[key] === 'string' ? ok[key] : '');
  const status = Number(ok['status']);
  switch (ok['kind'] === it.effect.request.kind ? ok['kind'] : '') {
    case 'llm':
      return quoteText(text('text'), it.effect.request['mode'] === 'text');
    case 'tool':
      return quoteText(text('text'), true);
    case 'http': {
      if (status > 200 && status < 300) addNote(`the service of '${target}' answered with status ${status}; the talk uses 200 instead.`);
      if (status >= 300) {
        const word = status === 429 ? 'limited' : status === 404 ? 'not_found' : status < 500 ? 'refused' : 'unavailable';
        addNote(`the service of '${target}' answered with status ${status}, which a talk cannot express; it uses '${word}' instead.`);
        return word;
      }
      return target.startsWith('task ') ? taskReplyText(text('body'), target, addNote) : quoteText(text('body'), true);
    }
    case 'sql':
      if (ok['truncated'] === true) addNote(`the rows of '${target}' were truncated, which a talk cannot express.`);
      return replyMember(it, 'rows');
    case 'container': {
      const data = replyMember(it, 'data');
      if (typeof ok['data'] === 'string') return quoteText(ok['data'], true);
      if (!/^[[{]/.test(data)) addNote(`the data of '${target}' is neither an object nor a list; the talk gives it as text.`);
      return data;
    }
    case 'task': {
      const members = TASK_MEMBERS.filter((name) => name === 'result' || (ok[name] !== undefined && !isEmpty(ok[name])));
      return `{${members.map((name) => `${JSON.stringify(name)}: ${replyMember(it, name)}`).join(', ')}}`;
    }
    default:
      addNote(`the answer to '${target}' is of a different kind than the request, which a talk cannot express; it uses 'invalid' instead.`);
      return 'invalid';
  }
}

/** Formats the response of a task's service: an object of task members, or else the result of the task. */
function taskReplyText(body: string, target: string, addNote: (sentence: string) => void): string {
  const parsed = tryParse(body);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    const names = Object.keys(parsed);
    if (names.length > 0 && names.every((it) => TASK_MEMBERS.includes(it))) return toOneLine(body);
  }
  addNote(`the service of '${target}' did not answer with task members; the talk gives its answer as the result.`);
  return `{"result": ${parsed === undefined ? JSON.stringify(body) : toOneLine(body)}}`;
}

function failureText(
  error: { kind: string; message: string; status?: number; detail?: string },
  target: string,
  outcome: Outcome,
  addNote: (sentence: string) => void,
): string {
  const { kind, message } = error;
  if (kind === 'unavailable' && isPlain(message, /\s\+\d+(ms|[smhd])$/)) return `! ${message}`;
  const word = ERROR_KINDS.includes(kind) ? kind : 'invalid';
  if (word !== kind) addNote(`'${target}' failed with '${kind}', which a talk cannot express; it uses '${word}' instead.`);
  if (error.status !== undefined) addNote(`'${target}' failed with status ${error.status}, which a talk cannot express.`);
  if (error.detail !== undefined) addNote(`'${target}' failed with the detail '${error.detail}', which a talk cannot express.`);
  const visible = JSON.stringify([outcome.payload?.value, outcome.context]);
  const shown = message !== '' && visible.includes(JSON.stringify(message).slice(1, -1));
  if (shown) addNote(`the failure of '${target}' appears in the reply or the context with a different message than in the talk.`);
  return word;
}

/** Formats a text: JSON unquoted where that loses nothing. */
function quoteText(text: string, exact: boolean): string {
  if (/^[[{]/.test(text)) {
    const parsed = tryParse(text);
    // The engine writes it again, with numbers as it represents them.
    const same = exact ? JSON.stringify(parsed) === text : !/\d{16}/.test(text);
    if (parsed !== undefined && same) return toOneLine(text);
  }
  const asIs = isPlain(text, /^[[{"!]|(^|\s)\+\d+(ms|[smhd])$/) && !ERROR_KINDS.includes(text);
  return asIs ? text : JSON.stringify(text);
}

/** Returns a member of the reply, in the engine's spelling where known. */
function replyMember({ raw, completion }: AnsweredEffect, name: string): string {
  const ok = raw && parseSpans(raw.outcome).members?.get('ok');
  const span = ok?.members?.get(name);
  if (raw !== undefined && span) return toOneLine(raw.outcome.slice(span.start, span.end));
  return JSON.stringify('ok' in completion.outcome ? (completion.outcome.ok[name] ?? null) : null);
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

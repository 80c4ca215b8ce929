/** The lines of a talk that answer what a turn asks. */
import { spans } from '../json-text';
import type { Effect, JsonObject, Outcome } from '../types';
import type { Answered } from './saved';
import { duration, oneLine, plain } from './talk-text';

/** Failures that a talk names by a word. */
const KINDS = 'timeout unavailable refused invalid not_found denied circuit_open limited unsupported interrupted cancelled'.split(' ');
const TASK_MEMBERS = ['result', 'set_params', 'set_context', 'intent', 'state', 'payload', 'publish'];

/** Says what an effect asks for as a talk does; nothing for what no talk answers. */
export function askedFor({ request }: Effect): string | undefined {
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

/** Lists the calls of a turn in the order in which they were asked for. */
export function called(answered: Answered[]): string[] {
  return inOrder(answered).flatMap((it) => askedFor(it.effect)?.replace(/^llm /, '') ?? []);
}

/**
 * Picks the answers of each turn that the pack's script does not give again.
 *
 * A talk's answer goes to the first call that asks for it, and the script does not count that call. So the answers before it
 * in its turn are picked as well, and every later one.
 */
export function needed(turns: Answered[][], all: boolean): Answered[][] {
  const picked = new Set<string>();
  return turns.map((answered) => {
    for (const it of answered) if (!again(it)) picked.add(askedFor(it.effect) ?? '');
    return inOrder(answered).filter((it) => {
      const asked = askedFor(it.effect);
      return asked === undefined ? !again(it) : all || picked.has(asked);
    });
  });
}

/** Whether the runner gives this answer by itself; it has databases, documents and files that a page has not. */
function again({ origin, completion: { outcome } }: Answered): boolean {
  return origin === 'script' && !('error' in outcome && ['unsupported', 'not_found'].includes(outcome.error.kind));
}

/** Writes an answer; says what the line does not say. */
export function answerLine(it: Answered, outcome: Outcome, say: (sentence: string) => void): string[] {
  const asked = askedFor(it.effect);
  const { kind } = it.effect.request;
  if (asked === undefined) {
    if (kind !== 'sleep') say(`the answer to the effect '${kind}' is left out, because a talk cannot give one; the runner has to find its own.`);
    return [];
  }
  if (!/^\S+ \S+$/.test(asked)) {
    say(`the answer to '${asked}' is left out, because a talk cannot write this name.`);
    return [];
  }
  const answer = it.completion.outcome;
  const said = 'error' in answer ? failure(answer.error, asked, outcome, say) : reply(it, asked, answer.ok, say);
  const delay = it.delayMs > 0 ? ` ${duration(Math.round(it.delayMs))}` : '';
  return [`  ${asked} ${said}${delay}`];
}

function inOrder(answered: Answered[]): Answered[] {
  return answered.toSorted((a, b) => a.effect.id - b.effect.id);
}

function reply(it: Answered, asked: string, ok: JsonObject, say: (sentence: string) => void): string {
  const text = (key: string) => (typeof ok[key] === 'string' ? ok[key] : '');
  const status = Number(ok['status']);
  switch (ok['kind'] === it.effect.request.kind ? ok['kind'] : '') {
    case 'llm':
      return written(text('text'), it.effect.request['mode'] === 'text');
    case 'tool':
      return written(text('text'), true);
    case 'http': {
      if (status > 200 && status < 300) say(`the service of '${asked}' answered with status ${status}; the talk says 200 instead.`);
      if (status >= 300) {
        const word = status === 429 ? 'limited' : status === 404 ? 'not_found' : status < 500 ? 'refused' : 'unavailable';
        say(`the service of '${asked}' answered with status ${status}, which a talk cannot give; it says '${word}' instead.`);
        return word;
      }
      return asked.startsWith('task ') ? ofTask(text('body'), asked, say) : written(text('body'), true);
    }
    case 'sql':
      if (ok['truncated'] === true) say(`the rows of '${asked}' were cut off, which a talk cannot say.`);
      return part(it, 'rows');
    case 'container': {
      const data = part(it, 'data');
      if (typeof ok['data'] === 'string') return written(ok['data'], true);
      if (!/^[[{]/.test(data)) say(`the data of '${asked}' are neither an object nor a list; the talk gives them as text.`);
      return data;
    }
    case 'task': {
      const members = TASK_MEMBERS.filter((name) => name === 'result' || (ok[name] !== undefined && !isEmpty(ok[name])));
      return `{${members.map((name) => `${JSON.stringify(name)}: ${part(it, name)}`).join(', ')}}`;
    }
    default:
      say(`the answer to '${asked}' is of another kind than what was asked, which a talk cannot give; it says 'invalid' instead.`);
      return 'invalid';
  }
}

/** A service answers a task with an object of members that a task has; all else is what the task returned. */
function ofTask(body: string, asked: string, say: (sentence: string) => void): string {
  const parsed = parse(body);
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    const names = Object.keys(parsed);
    if (names.length > 0 && names.every((it) => TASK_MEMBERS.includes(it))) return oneLine(body);
  }
  say(`the service of '${asked}' did not answer as tasks do; the talk gives its answer as the result.`);
  return `{"result": ${parsed === undefined ? JSON.stringify(body) : oneLine(body)}}`;
}

function failure(
  error: { kind: string; message: string; status?: number },
  asked: string,
  outcome: Outcome,
  say: (sentence: string) => void,
): string {
  const { kind, message } = error;
  if (kind === 'unavailable' && plain(message, /\s\+\d+(ms|[smhd])$/)) return `! ${message}`;
  const word = KINDS.includes(kind) ? kind : 'invalid';
  if (word !== kind) say(`'${asked}' failed with '${kind}', which a talk cannot say; it says '${word}' instead.`);
  if (error.status !== undefined) say(`'${asked}' failed with status ${error.status}, which a talk cannot say.`);
  const left = JSON.stringify([outcome.payload?.value, outcome.context]);
  const shown = message !== '' && left.includes(JSON.stringify(message).slice(1, -1));
  if (shown) say(`the failure of '${asked}' shows in the reply or the context, and in the talk it has other words.`);
  return word;
}

/** A text as a talk has it: JSON stands as it is where nothing of it is lost. */
function written(text: string, exact: boolean): string {
  if (/^[[{]/.test(text)) {
    const parsed = parse(text);
    // The engine writes it anew, with numbers as they fit into it.
    const same = exact ? JSON.stringify(parsed) === text : !/\d{16}/.test(text);
    if (parsed !== undefined && same) return oneLine(text);
  }
  const asIs = plain(text, /^[[{"!]|(^|\s)\+\d+(ms|[smhd])$/) && !KINDS.includes(text);
  return asIs ? text : JSON.stringify(text);
}

/** A member of the reply, in the spelling of the engine where that is known. */
function part({ raw, completion }: Answered, name: string): string {
  const ok = raw && spans(raw.outcome).members?.get('ok');
  const span = ok?.members?.get(name);
  if (raw !== undefined && span) return oneLine(raw.outcome.slice(span.start, span.end));
  return JSON.stringify('ok' in completion.outcome ? (completion.outcome.ok[name] ?? null) : null);
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

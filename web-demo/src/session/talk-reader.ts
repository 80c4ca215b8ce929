/**
 * Parses talks, as `docs/reference/talks.md` describes them.
 *
 * JSON in a talk keeps its spelling, so that `1.0` does not become `1`.
 */
import { TASK_MEMBERS, ERROR_KINDS } from './talk-answer';
import { parseCheck, type TalkCheck } from './talk-check';
import { afterMark, parseLineJson, requireText, splitAt, splitWord, TalkError, type TalkLine } from './talk-line';
import { parseDuration } from './talk-text';

/** A parsed talk. */
export interface ParsedTalk {
  about: string;
  name: string;
  /** The file of its pack. */
  config: string;
  /** Settings below `convengine`: their keys, and values as JSON. */
  settings: [key: string, json: string][];
  turns: TalkTurn[];
}

/** A turn of a talk. */
export interface TalkTurn {
  line: number;
  /** Label of its conversation. */
  conversation: string;
  /** Milliseconds since 1970. */
  at: number;
  /** Where the message is sent; without a path, to the conversation of tables. */
  path?: string;
  /** The body of the request as JSON, without the conversation id. */
  body: string;
  /** Its answers, in the form of a pack. */
  answers: string[];
  checks: TalkCheck[];
}

const FIRST_TURN_AT = Date.UTC(2026, 0, 1, 9);
const TURN_INTERVAL_MS = 60_000;

/** Whether a text looks like a talk: a header that names a pack, and messages. */
export function isTalk(text: string): boolean {
  return /^config\s+\S/m.test(text) && /^>/m.test(text) && !/^\s*[[{]/.test(text);
}

/** Parses a talk; throws a `TalkError`. */
export function parseTalk(text: string): ParsedTalk {
  const header = new Header();
  const turns: TalkTurn[] = [];
  text.replace(/^\uFEFF/, '').split(/\r?\n/).forEach((raw, index) => {
    const line = { number: index + 1, text: raw.trim() };
    if (line.text === '') return;
    const [comment, message] = [afterMark(line, '#'), afterMark(line, '>')];
    const turn = turns.at(-1);
    if (comment) header.about ??= comment.text;
    else if (message) turns.push(parseMessage(message, header, turn));
    else if (!turn) header.parseLine(line);
    else if (/^\s/.test(raw)) turn.answers.push(parseAnswer(line, turn));
    else addCheck(turn.checks, line);
  });
  const unchecked = turns.find((it) => it.checks.length === 0);
  if (turns.length === 0) throw new TalkError(1, "the talk has no messages; add one, such as '> Hello'");
  if (unchecked) throw new TalkError(unchecked.line, "the message has no checks; add one, such as '< the reply'");
  if (header.config === '') throw new TalkError(1, "the talk has no configuration; add a line 'config FILE.json'");
  const { about = '', name, config, settings } = header;
  return { about, name, config, settings, turns };
}

/** The lines before the first message. */
class Header {
  about: string | undefined;
  name = '';
  config = '';
  at = FIRST_TURN_AT;
  /** The paths that start a session and send it an event, if the talk plays a flow document, a workflow graph or an AI agent. */
  paths: { sessions: string; turns: string } | undefined;
  /** The slug of the chain, if the talk plays one. */
  chain: string | undefined;
  settings: [key: string, json: string][] = [];

  parseLine(line: TalkLine): void {
    const [word, rest] = splitWord(line);
    switch (word) {
      case 'name':
        this.name = requireText(rest, 'the name');
        return;
      case 'config':
        this.config = requireText(rest, 'the file of the pack');
        return;
      case 'at':
        this.at = parseInstant(rest);
        return;
      case 'set':
        this.settings.push(parseSetting(rest));
        return;
      case 'program':
        this.parseProgram(rest);
        return;
      default:
        throw new TalkError(line.number, 'unknown header line; use name, program, config, at, set or a comment, and begin a message with >');
    }
  }

  private parseProgram(line: TalkLine): void {
    const [word, rest] = splitWord(line);
    if (word === 'flow') {
      const sessions = `/v1/runtime/assistants/${requireText(rest, 'the id of the assistant')}/sessions`;
      this.paths = { sessions, turns: `${sessions}/\${SESSION}/turns` };
    } else if (word === 'workflow') {
      const id = requireText(rest, 'the id of the workflow graph');
      this.paths = { sessions: `/v1/runtime/workflows/${id}/sessions`, turns: '/v1/runtime/workflows/sessions/${SESSION}/turns' };
    } else if (word === 'agent') {
      const id = requireText(rest, 'the id of the AI agent');
      this.paths = { sessions: `/v1/runtime/ai-agents/${id}/sessions`, turns: '/v1/runtime/ai-agents/sessions/${SESSION}/turns' };
    } else if (word === 'chain') this.chain = requireText(rest, 'the slug of the chain');
    else if (word !== 'pipeline' || !['', 'v1', 'v2'].includes(rest.text)) throw new TalkError(line.number, 'unknown program; write pipeline v1, pipeline v2, flow ID, workflow ID, agent ID or chain SLUG');
    else if (rest.text) this.settings.push(['pipeline.profile', JSON.stringify(rest.text)]);
  }
}

function parseInstant({ number, text }: TalkLine): number {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(at)) throw new TalkError(number, 'invalid time; write it as 2026-01-01T09:00:00Z');
  return at;
}

function parseSetting(line: TalkLine): [key: string, json: string] {
  const [key, value] = splitAt(line, '=') ?? [];
  if (!key || !value) throw new TalkError(line.number, 'expected KEY=VALUE');
  return [key.replace(/^convengine\./, ''), isJsonText(value.text) ? value.text : JSON.stringify(value.text)];
}

/** Parses the text after `>`: `@label`, `+45m`, then a message or an event. */
function parseMessage(line: TalkLine, header: Header, previous: TalkTurn | undefined): TalkTurn {
  let rest = line;
  let conversation = 'main';
  if (rest.text.startsWith('@')) {
    const [word, after] = splitWord(rest);
    conversation = requireText({ ...rest, text: word.slice(1) }, 'the label of the conversation');
    rest = after;
  }
  const [word, after] = splitWord(rest);
  const wait = parseDuration(word);
  if (wait !== undefined) rest = after;
  const at = previous ? previous.at + (wait ?? TURN_INTERVAL_MS) : header.at + (wait ?? 0);
  const request = header.chain !== undefined ? parseRunEvent(rest, header.chain) : header.paths ? parseEvent(rest, header.paths) : { body: parseBody(rest) };
  return { line: line.number, conversation, at, ...request, answers: [], checks: [] };
}

function parseBody(line: TalkLine): string {
  if (!line.text.startsWith('{')) return JSON.stringify({ message: line.text });
  parseLineJson(line, 'a message that begins with { is the request body as JSON');
  return line.text;
}

/** Parses the message or event of a flow session. */
function parseEvent(line: TalkLine, { sessions, turns }: NonNullable<Header['paths']>): { path: string; body: string } {
  const [word, rest] = splitWord(line);
  if (word === '/start') {
    if (rest.text !== '') parseLineJson(rest, 'write the data of the session as a JSON object');
    return { path: sessions, body: rest.text || '{}' };
  }
  if (line.text.startsWith('{')) {
    parseLineJson(line, 'a line that begins with { is an event as JSON');
    return { path: turns, body: line.text };
  }
  return { path: turns, body: JSON.stringify(shortEvent(word, rest) ?? { type: 'user.message', text: line.text }) };
}

/** Parses the event of a run, or a text for the assistant that it talks to. */
function parseRunEvent(line: TalkLine, slug: string): { path: string; body: string } {
  const [word, rest] = splitWord(line);
  const run = (action: string) => `/v1/workflow-chains/${slug}/runs/\${SESSION}/${action}`;
  const json = (data: TalkLine, empty: string) => {
    if (data.text !== '') parseLineJson(data, 'write the data of the event as a JSON object');
    return data.text || empty;
  };
  switch (word) {
    case '/run':
      return { path: `/v1/workflow-chains/${slug}/run`, body: `{"input":${json(rest, 'null')}}` };
    case '/ingress': {
      if (rest.text.startsWith('{')) return { path: `/v1/public/chains/${slug}/ingress`, body: json(rest, '{}') };
      const [step, body] = splitWord(rest);
      requireText({ ...rest, text: step }, 'the id of the step, or the body as a JSON object');
      return { path: `/v1/public/chains/${slug}/ingress/${step}?run=\${SESSION}`, body: json(body, '{}') };
    }
    case '/resume':
    case '/cancel':
    case '/retry':
    case '/token':
      return { path: run(word.slice(1)), body: json(rest, '{}') };
    case '/timer':
      return { path: run(`timers/${requireText(rest, 'the id of the timer')}`), body: '{}' };
    default:
      return { path: run('resume'), body: JSON.stringify({ text: line.text }) };
  }
}

function shortEvent(word: string, rest: TalkLine): object | undefined {
  switch (word) {
    case '/press':
      return { type: 'user.button', button_id: requireText(rest, 'the id of the button') };
    case '/timer':
      return { type: 'timer.fired', timer_id: requireText(rest, 'the id of the timer') };
    case '/approve':
    case '/reject':
      return { type: 'approval.decision', call_id: requireText(rest, 'the id of the call'), approved: word === '/approve' };
    case '/end':
      return { type: 'session.end' };
    default:
      return undefined;
  }
}

/** Parses an indented line, such as `llm PURPOSE REPLY +850ms`, to an answer in the form of a pack. */
function parseAnswer(line: TalkLine, { checks }: TalkTurn): string {
  if (checks.length > 0) throw new TalkError(line.number, 'answers must come before checks; move this line up');
  const [kind, rest] = splitWord(line);
  const [key, answer] = splitWord(rest);
  if (!['llm', 'task', 'tool', 'container'].includes(kind)) {
    throw new TalkError(line.number, 'unknown kind of answer; begin an indented line with llm, task, tool or container');
  }
  requireText({ ...rest, text: key }, 'what the line answers');
  const [, before, delay] = /^(?:(.*)\s)?(\S+)$/s.exec(answer.text) ?? [];
  const delayMs = parseDuration(delay ?? '');
  const text = requireText({ ...answer, text: delayMs === undefined ? answer.text : (before ?? '').trimEnd() }, 'the answer');
  const name = kind === 'llm' ? key.toLowerCase() : key;
  const reply = parseReply({ number: line.number, text }, kind);
  return `{${JSON.stringify(kind)}:${JSON.stringify(name)},${reply},"delay_ms":${delayMs ?? 0},"line":${line.number}}`;
}

/** Parses what is answered, to the member of an answer. */
function parseReply(line: TalkLine, kind: string): string {
  const failure = afterMark(line, '!');
  if (failure) return `"error":${JSON.stringify({ kind: 'unavailable', message: failure.text })}`;
  if (ERROR_KINDS.includes(line.text)) return `"error":${JSON.stringify({ kind: line.text, message: `the script answers with '${line.text}'` })}`;
  const isJson = /^[[{"]/.test(line.text);
  const value = isJson ? parseLineJson(line, 'write text that only looks like JSON as a JSON string') : line.text;
  const json = isJson ? line.text : JSON.stringify(line.text);
  return `"reply":${kind === 'task' ? taskReply(line, value, json) : json}`;
}

/** An object is the reply of a task; any other value is its result. */
function taskReply({ number }: TalkLine, value: unknown, json: string): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return `{"result":${json}}`;
  const unknown = Object.keys(value).find((it) => !TASK_MEMBERS.includes(it));
  if (unknown !== undefined) throw new TalkError(number, `unknown member '${unknown}' of a task reply; use ${TASK_MEMBERS.join(', ')}, or write {"result": …}`);
  return json;
}

/** Adds a check. Replies on consecutive lines are one text. */
function addCheck(checks: TalkCheck[], line: TalkLine): void {
  const check = parseCheck(line);
  const last = checks.at(-1);
  if (last?.kind === 'reply' && check.kind === 'reply' && last.line + last.text.split('\n').length === check.line) last.text += `\n${check.text}`;
  else checks.push(check);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

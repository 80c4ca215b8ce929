/**
 * Writes turns that were played as a talk, which `convengine test` plays against the same pack.
 *
 * What a talk has no words for is written as near as it can be, and said in a sentence of its own.
 */
import { isJson } from '../json-text';
import type { Json, Outcome } from '../types';
import { happening, standsAt, valueOf } from './flow-talk';
import type { Played, Said } from './saved';
import { answerLine, called, needed } from './talk-answer';
import { duration, oneLine, plain } from './talk-text';

/** What a talk asserts; an error code is asserted whenever a turn fails. */
export interface Assertions {
  reply: 'equals' | 'contains' | 'none';
  place: boolean;
  calls: boolean;
  fault: true;
  /** Paths whose values are asserted, such as `context.amount`. */
  context: string[];
  stages: boolean;
  /** Whether answers of the pack's own script are written down, too. */
  answers?: 'needed' | 'all';
}

/** What is asserted unless somebody chooses otherwise. */
export const USUAL: Assertions = { reply: 'equals', place: true, calls: true, fault: true, context: [], stages: false };

/** A talk, and sentences about what it could not say. */
export interface Talk {
  text: string;
  left: string[];
}

const MINUTE = 60_000;
/** The last second that a talk can name. */
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59);
const ROOTS = ['conversationId', 'intent', 'state', 'payload', 'context', 'success', 'errorCode', 'recoverable', 'message'];
const ELSEWHERE = ['params', 'row', 'calls', 'audit'];

/** Writes a talk. */
export function talkOf(turns: Played[], pack: { file: string; name: string; /** The assistant of a flow. */ flow?: string }, wants: Assertions): Talk {
  const left: string[] = [];
  const [first] = turns;
  const start = Math.min(Math.max(first?.said.at ?? 0, 0), LATEST);
  const second = start - (start % 1000);
  const lines = [
    `# A chat with ${words(pack.name) || 'a pack'}, written down as it was played.`,
    `config ${words(pack.file)}`,
    ...(words(pack.name) ? [`name ${words(pack.name)}`] : []),
    ...(pack.flow ? [`program flow ${pack.flow}`] : []),
    `at ${new Date(second).toISOString().slice(0, 19)}Z`,
  ];
  const names = labels(turns);
  const written = needed(turns.map((it) => it.answered), wants.answers === 'all');
  let clock = second;
  turns.forEach((turn, index) => {
    const say = (sentence: string) => left.push(`Turn ${index + 1}: ${sentence}`);
    let wait = turn.said.at - clock;
    if (index === 0) wait = start - second;
    if (wait < 0) say('it was said before the one that stands above it; the talk lets no time pass between them.');
    wait = Math.max(0, Math.round(wait));
    clock += wait;
    const usual = wait === (index === 0 ? 0 : MINUTE);
    const name = names.get(key(turn.said)) ?? 'main';
    const words = [name === 'main' ? '' : `@${name}`, usual ? '' : duration(wait), message(turn.said, turns)];
    lines.push('', `> ${words.filter(Boolean).join(' ')}`);
    lines.push(...(written[index] ?? []).flatMap((it) => answerLine(it, turn.outcome, say)));
    lines.push(...checks(turn, wants, say));
  });
  return { text: `${lines.join('\n')}\n`, left };
}

/** Each conversation has one label, which is one word. */
function labels(turns: Played[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { said } of turns) {
    if (names.has(key(said))) continue;
    const wish = said.conversation.trim().replace(/\s+/g, '-') || 'main';
    const taken = [...names.values()];
    let name = wish;
    for (let number = 2; taken.includes(name); number++) name = `${wish}-${number}`;
    names.set(key(said), name);
  }
  return names;
}

function key(said: Said): string {
  return said.conversationId.toLowerCase() || said.conversation;
}

function message(said: Said, turns: Played[]): string {
  if (said.event !== undefined) return happening(said);
  const params = oneLine(said.inputParams);
  const id = said.conversationId;
  // The label gives an id of its own; a reply that names the old one holds under the old one alone.
  const named = id !== '' && turns.some((it) => key(it.said) === key(said) && JSON.stringify(it.outcome.payload).includes(id));
  const bare = params === '' || /^\{\s*\}$/.test(params);
  if (bare && !said.reset && !named && plain(said.message, /^[{@+]/)) return said.message;
  const members = [
    named ? `"conversationId": ${JSON.stringify(id)}` : '',
    `"message": ${JSON.stringify(said.message)}`,
    bare ? '' : `"inputParams": ${params}`,
    said.reset ? '"reset": true' : '',
  ];
  return `{${members.filter(Boolean).join(', ')}}`;
}

function checks(turn: Played, wants: Assertions, say: (sentence: string) => void): string[] {
  const { outcome } = turn;
  const lines: string[] = [];
  if (outcome.fault) lines.push(`! ${outcome.fault.code}`);
  else {
    if (wants.reply !== 'none') lines.push(...reply(outcome.payload, wants.reply));
    if (wants.place) lines.push(...place(outcome));
    lines.push(...wants.context.flatMap((it) => value(it, outcome, say)));
  }
  if (wants.stages) {
    const stages = turn.notices.flatMap((it) => (it.kind === 'audit' && !/^STEP_|^PROMPT_RENDERING|,/.test(it.stage) ? [it.stage] : []));
    if (stages.length > 0) lines.push(`~ ${stages.join(', ')}`);
  }
  if (wants.calls) {
    const calls = called(turn.answered);
    if (calls.some((it) => /[,\n]/.test(it))) say('a call has a comma in its name, so that the calls are not asserted.');
    else lines.push(`$ ${calls.join(', ') || 'none'}`);
  }
  return lines.length > 0 ? lines : ['? success = true'];
}

function reply(payload: Outcome['payload'], how: 'equals' | 'contains'): string[] {
  if (!payload) return ['? payload = null'];
  const text = payload.value;
  const [part] = text.split(/[\r\n]/).map((it) => it.trim()).filter(Boolean);
  if (how === 'contains' && part) return [`<~ ${part}`];
  if (payload.type === 'JSON' && /^\s*[[{]/.test(text) && isJson(text)) return [`< ${oneLine(text)}`];
  return text.split('\n').map((it) => (it === '' ? '<' : `< ${plain(it, /^[[{"]/) ? it : JSON.stringify(it)}`));
}

function place(outcome: Outcome): string[] {
  if (outcome.flow) return standsAt(outcome);
  const { intent, state } = outcome;
  const word = (code: string | null) => code !== null && /^[^\s/]+$/.test(code);
  if (word(intent) && word(state)) return [`= ${intent} / ${state}`];
  return [`? intent = ${JSON.stringify(intent)}`, `? state = ${JSON.stringify(state)}`];
}

function value(wish: string, outcome: Outcome, say: (sentence: string) => void): string[] {
  if (outcome.flow) return [valueOf(wish.trim(), outcome)];
  const root = wish.trim().split('.')[0] ?? '';
  const path = [...ROOTS, ...ELSEWHERE].includes(root) ? wish.trim() : `context.${wish.trim()}`;
  if (ELSEWHERE.includes(root) || root === 'conversationId' || / [=~] |\n/.test(path)) {
    say(`what stands at '${path}' is not asserted: it is not known here, or a talk cannot name it.`);
    return [];
  }
  const { intent, state, payload, context } = outcome;
  let found: Json | undefined = { intent, state, payload, context, success: true, errorCode: null, recoverable: false, message: null };
  for (const name of path.split('.').filter(Boolean)) {
    const inner: Json | undefined = typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as Record<string, Json>)[name] : null;
    found = inner;
  }
  return [`? ${path} = ${JSON.stringify(found ?? null)}`];
}

function words(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

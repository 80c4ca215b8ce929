/**
 * Writes finished turns as a talk, which `convengine test` runs against the same pack.
 *
 * What a talk cannot express is approximated and reported in a note.
 */
import { isJson } from '../json-text';
import type { Json, Outcome } from '../types';
import { eventLine, flowPositionLines, valueLine } from './flow-talk';
import type { FinishedTurn, UserInput } from './turn-data';
import { answerLines, listCalls, selectAnswers } from './talk-answer';
import { durationText, toOneLine, isPlain } from './talk-text';

/** What a talk asserts. The error code of a failed turn is always asserted. */
export interface Assertions {
  reply: 'equals' | 'contains' | 'none';
  position: boolean;
  calls: boolean;
  fault: true;
  /** Paths of asserted values, such as `context.amount`. */
  context: string[];
  stages: boolean;
  /** Whether answers of the pack's script are written as well. */
  answers?: 'needed' | 'all';
}

/** The default assertions. */
export const DEFAULT_ASSERTIONS: Assertions = { reply: 'equals', position: true, calls: true, fault: true, context: [], stages: false };

/** A talk, with notes about what it cannot express. */
export interface Talk {
  text: string;
  notes: string[];
}

const MINUTE = 60_000;
/** The last second that a talk can express. */
const MAX_TIME = Date.UTC(9999, 11, 31, 23, 59, 59);
const SUPPORTED_ROOTS = ['conversationId', 'intent', 'state', 'payload', 'context', 'success', 'errorCode', 'recoverable', 'message'];
const UNSUPPORTED_ROOTS = ['params', 'row', 'calls', 'audit'];

/** Writes a talk. */
export function writeTalk(turns: FinishedTurn[], pack: { file: string; name: string; /** The document of a flow, as `flow ID` or `workflow ID`. */ flow?: string }, assertions: Assertions): Talk {
  const notes: string[] = [];
  const [first] = turns;
  const start = Math.min(Math.max(first?.input.at ?? 0, 0), MAX_TIME);
  const second = start - (start % 1000);
  const lines = [
    `# A recorded chat with ${collapseSpaces(pack.name) || 'a pack'}.`,
    `config ${collapseSpaces(pack.file)}`,
    ...(collapseSpaces(pack.name) ? [`name ${collapseSpaces(pack.name)}`] : []),
    ...(pack.flow ? [`program ${pack.flow}`] : []),
    `at ${new Date(second).toISOString().slice(0, 19)}Z`,
  ];
  const names = conversationLabels(turns);
  const written = selectAnswers(turns.map((it) => it.exchanges), assertions.answers === 'all');
  let clock = second;
  turns.forEach((turn, index) => {
    const addNote = (sentence: string) => notes.push(`Turn ${index + 1}: ${sentence}`);
    let wait = turn.input.at - clock;
    if (index === 0) wait = start - second;
    if (wait < 0) addNote('it is earlier than the turn above it; in the talk, no time passes between them.');
    wait = Math.max(0, Math.round(wait));
    clock += wait;
    const isDefault = wait === (index === 0 ? 0 : MINUTE);
    const name = names.get(conversationKey(turn.input)) ?? 'main';
    const words = [name === 'main' ? '' : `@${name}`, isDefault ? '' : durationText(wait), messageLine(turn.input, turns)];
    lines.push('', `> ${words.filter(Boolean).join(' ')}`);
    lines.push(...(written[index] ?? []).flatMap((it) => answerLines(it, turn.outcome, addNote)));
    lines.push(...assertionLines(turn, assertions, addNote));
  });
  return { text: `${lines.join('\n')}\n`, notes };
}

/** Assigns each conversation a unique one-word label. */
function conversationLabels(turns: FinishedTurn[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { input } of turns) {
    if (names.has(conversationKey(input))) continue;
    const wanted = input.conversation.trim().replace(/\s+/g, '-') || 'main';
    const taken = [...names.values()];
    let name = wanted;
    for (let number = 2; taken.includes(name); number++) name = `${wanted}-${number}`;
    names.set(conversationKey(input), name);
  }
  return names;
}

function conversationKey(input: UserInput): string {
  return input.conversationId.toLowerCase() || input.conversation;
}

function messageLine(input: UserInput, turns: FinishedTurn[]): string {
  if (input.event !== undefined) return eventLine(input);
  const params = toOneLine(input.inputParams);
  const id = input.conversationId;
  // A label produces a new id, so a reply that contains the original id needs the original id.
  const named = id !== '' && turns.some((it) => conversationKey(it.input) === conversationKey(input) && JSON.stringify(it.outcome.payload).includes(id));
  const bare = params === '' || /^\{\s*\}$/.test(params);
  if (bare && !input.reset && !named && isPlain(input.message, /^[{@+]/)) return input.message;
  const members = [
    named ? `"conversationId": ${JSON.stringify(id)}` : '',
    `"message": ${JSON.stringify(input.message)}`,
    bare ? '' : `"inputParams": ${params}`,
    input.reset ? '"reset": true' : '',
  ];
  return `{${members.filter(Boolean).join(', ')}}`;
}

function assertionLines(turn: FinishedTurn, assertions: Assertions, addNote: (sentence: string) => void): string[] {
  const { outcome } = turn;
  const lines: string[] = [];
  if (outcome.fault) lines.push(`! ${outcome.fault.code}`);
  else {
    if (assertions.reply !== 'none') lines.push(...replyLines(outcome.payload, assertions.reply));
    if (assertions.position) lines.push(...positionLines(outcome));
    lines.push(...assertions.context.flatMap((it) => valueLines(it, outcome, addNote)));
  }
  if (assertions.stages) {
    const stages = turn.notices.flatMap((it) => (it.kind === 'audit' && !/^STEP_|^PROMPT_RENDERING|,/.test(it.stage) ? [it.stage] : []));
    if (stages.length > 0) lines.push(`~ ${stages.join(', ')}`);
  }
  if (assertions.calls) {
    const calls = listCalls(turn.exchanges);
    if (calls.some((it) => /[,\n]/.test(it))) addNote('the name of a call contains a comma, so calls are not asserted.');
    else lines.push(`$ ${calls.join(', ') || 'none'}`);
  }
  return lines.length > 0 ? lines : ['? success = true'];
}

function replyLines(payload: Outcome['payload'], how: 'equals' | 'contains'): string[] {
  if (!payload) return ['? payload = null'];
  const text = payload.value;
  const [part] = text.split(/[\r\n]/).map((it) => it.trim()).filter(Boolean);
  if (how === 'contains' && part) return [`<~ ${part}`];
  if (payload.type === 'JSON' && /^\s*[[{]/.test(text) && isJson(text)) return [`< ${toOneLine(text)}`];
  return text.split('\n').map((it) => (it === '' ? '<' : `< ${isPlain(it, /^[[{"]/) ? it : JSON.stringify(it)}`));
}

function positionLines(outcome: Outcome): string[] {
  if (outcome.flow) return flowPositionLines(outcome);
  const { intent, state } = outcome;
  const word = (code: string | null) => code !== null && /^[^\s/]+$/.test(code);
  if (word(intent) && word(state)) return [`= ${intent} / ${state}`];
  return [`? intent = ${JSON.stringify(intent)}`, `? state = ${JSON.stringify(state)}`];
}

function valueLines(name: string, outcome: Outcome, addNote: (sentence: string) => void): string[] {
  if (outcome.flow) return [valueLine(name.trim(), outcome)];
  const root = name.trim().split('.')[0] ?? '';
  const path = [...SUPPORTED_ROOTS, ...UNSUPPORTED_ROOTS].includes(root) ? name.trim() : `context.${name.trim()}`;
  if (UNSUPPORTED_ROOTS.includes(root) || root === 'conversationId' || / [=~] |\n/.test(path)) {
    addNote(`'${path}' is not asserted: it is unknown here, or a talk cannot express it.`);
    return [];
  }
  const { intent, state, payload, context } = outcome;
  let found: Json | undefined = { intent, state, payload, context, success: true, errorCode: null, recoverable: false, message: null };
  for (const member of path.split('.').filter(Boolean)) {
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, member) ? (found as Record<string, Json>)[member] : undefined;
  }
  return [found === undefined ? `?! ${path}` : `? ${path} = ${JSON.stringify(found)}`];
}

function collapseSpaces(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}

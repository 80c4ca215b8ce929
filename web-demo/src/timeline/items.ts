import { answered as reply, title } from '../exchange';
import { tone as toneOf, type Tone } from '../grouping';
import type { Answered, Said } from '../session/saved';
import type { Effect, Notice, StepInfo, TurnRecord } from '../types';
import { kindOf, type Kind } from './kind';
import { decided, telling } from './told';

/** A turn as far as the timeline reads it. */
export interface Told {
  readonly id: number;
  readonly number: number;
  readonly said: Said;
  readonly reason: string;
  readonly notices: Notice[];
  readonly answered: Answered[];
  readonly waiting: Effect[];
  readonly record: TurnRecord | undefined;
  readonly error: { code: string; message: string } | undefined;
  readonly parent: Told | undefined;
}

/** One thing that happened in a turn. */
export interface Item {
  key: string;
  kind: Kind;
  /** The number of the next notice: the place in the turn. */
  seq: number;
  /** The step that it happened in; nothing before the first one and at the turn's end. */
  step: number | undefined;
  name: string;
  detail: string;
  tone: Tone;
  /** Whether a story tells it. */
  story: boolean;
  effect?: Effect;
  answered?: Answered;
  /** The place of the effect among the answered ones. */
  place?: number;
  notice?: Notice;
  /** All that a search looks through. */
  said: unknown;
}

/** The things of a turn in their order, and its steps. */
export interface Items {
  steps: StepInfo[];
  list: Item[];
  /** When it began and how long it took, by the conversation's clock. */
  begin: number;
  took: number;
}

const cache = new WeakMap<TurnRecord, Items>();
const texts = new WeakMap<Item, string>();

/** Takes a turn apart; what is finished is taken apart once. */
export function itemsOf(turn: Told): Items {
  const known = turn.record && cache.get(turn.record);
  if (known) return known;
  const items = made(turn);
  if (turn.record) cache.set(turn.record, items);
  return items;
}

/** Gives all texts of an item in small letters, and JSON within JSON as people type it; it is written out only once somebody searches. */
export function textOf(item: Item): string {
  let text = texts.get(item);
  if (text === undefined) texts.set(item, (text = JSON.stringify([item.name, item.detail, item.said]).replaceAll('\\"', '"').toLowerCase()));
  return text;
}

/** Gives the steps of a turn, even while it runs. */
export function stepsOf({ record, notices }: Pick<Told, 'record' | 'notices'>): StepInfo[] {
  if (record && record.steps.length > 0) return record.steps;
  const begun = notices.filter((it) => it.kind === 'audit' && ['STEP_ENTER', 'node.enter'].includes(it.stage));
  const name = (it: Notice) => payloadText(it, 'step') || `${payloadText(it, 'graph')}/${payloadText(it, 'node')}`;
  return begun.map((it) => ({ step: name(it), seq: it.seq, finished: true, changed: false }));
}

/** Gives the place in the turn at which each effect was asked; of a recorded turn it is told from what was decided around it. */
export function placed(answered: Answered[], notices: Notice[]): number[] {
  let at = 0;
  return answered.map(({ effect, seq, origin }) => {
    if (origin !== 'recorded') return seq;
    const asks = effect.request.kind === 'llm' ? /_LLM_INPUT/ : /TOOL_CALL|_REQUEST|PENDING_ACTION_EXECUTED|SET_TASK/;
    const found = notices.findIndex((it, index) => index >= at && it.kind === 'audit' && asks.test(it.stage));
    if (found >= 0) at = found + 1;
    return notices[at]?.seq ?? (notices.at(-1)?.seq ?? -1) + 1;
  });
}

function made(turn: Told): Items {
  const { notices, answered, waiting, record } = turn;
  const steps = stepsOf(turn);
  const stepAt = (seq: number) => {
    const next = steps.findIndex((it) => it.seq > seq);
    const at = (next < 0 ? steps.length : next) - 1;
    return at < 0 ? undefined : at;
  };
  const end = (notices.at(-1)?.seq ?? -1) + 1;
  const list: Item[] = notices.flatMap((it) => told(it, turn.id));
  const seqs = placed(answered, notices);
  answered.forEach((it, place) => list.push(effectItem(turn.id, it.effect, seqs[place] ?? end, { answered: it, place })));
  waiting.forEach((it) => list.push(effectItem(turn.id, it, end, {})));
  // An effect was asked before the notice of the same number was said.
  list.sort((a, b) => a.seq - b.seq || Number(b.effect !== undefined) - Number(a.effect !== undefined) || (a.place ?? 0) - (b.place ?? 0));
  list.forEach((it) => (it.step = it.effect && it.seq > 0 ? stepAt(it.seq - 1) : stepAt(it.seq)));
  list.push(...ending(turn, end));
  const begin = record?.said.at ?? turn.said.at;
  const last = Math.max(begin, notices.at(-1)?.at ?? 0, ...answered.map((it) => it.completion.at));
  return { steps, list, begin, took: last - begin };
}

function told(notice: Notice, id: number): Item[] {
  const base = { key: `${id}:n${notice.seq}`, seq: notice.seq, step: undefined, notice };
  if (notice.kind === 'verbose') {
    const bad = notice.level === 'ERROR';
    const name = notice.text || notice.determinant;
    return [{ ...base, kind: 'progress', name, detail: notice.text ? notice.determinant : 'no text for people', tone: bad ? 'bad' : 'calm', story: bad, said: notice }];
  }
  if (notice.kind === 'message') return [{ ...base, kind: 'reply', name: notice.message.text, detail: '', tone: 'calm', story: true, said: notice.message.blocks }];
  if (['STEP_ENTER', 'STEP_EXIT', 'node.enter'].includes(notice.stage)) return [];
  const tone = toneOf(notice.stage);
  return [{ ...base, kind: tone === 'bad' ? 'error' : 'decision', ...decided(notice), tone, story: telling(notice), said: notice }];
}

function effectItem(id: number, effect: Effect, seq: number, more: Pick<Item, 'answered' | 'place'>): Item {
  const { answered } = more;
  const failed = answered ? reply(answered.completion).failed : false;
  return {
    key: `${id}:e${effect.id}`,
    kind: kindOf(effect),
    seq,
    step: undefined,
    name: title(effect),
    detail: answered ? answerText(answered) : 'waiting for the answer',
    tone: failed ? 'bad' : 'calm',
    story: effect.request.kind !== 'sleep',
    effect,
    said: [effect.request, answered?.completion.outcome ?? null],
    ...more,
  };
}

/** What a turn came to: where the conversation went, and what was said. */
function ending({ id, record, error, parent }: Told, seq: number): Item[] {
  const base = { seq, step: undefined, story: true };
  if (error) return [{ ...base, key: `${id}:fault`, kind: 'error', name: error.code, detail: error.message, tone: 'bad', said: error }];
  if (!record) return [];
  const { outcome } = record;
  const out: Item[] = [];
  const [from, to] = [standing(parent?.record?.outcome), standing(outcome)];
  if (to !== '' && from !== to) {
    out.push({ ...base, key: `${id}:change`, kind: 'change', name: to, detail: from ? `was ${from}` : 'the conversation begins', tone: 'hit', said: null });
  }
  if (outcome.fault) {
    const { code, message } = outcome.fault;
    out.push({ ...base, key: `${id}:fault`, kind: 'error', name: code, detail: message, tone: 'bad', said: outcome.fault });
  }
  // Messages of a flow stand where they were said.
  if (outcome.payload && !outcome.flow) {
    const { value } = outcome.payload;
    out.push({ ...base, key: `${id}:reply`, kind: 'reply', name: value, detail: '', tone: 'calm', said: null });
  }
  return out;
}

function standing(outcome: { intent: string | null; state: string | null } | undefined): string {
  return [outcome?.intent, outcome?.state].filter((it) => it && it !== 'UNKNOWN').join(' / ');
}

/** The beginning of an answer, in one line. */
function answerText({ completion }: Answered): string {
  const told = reply(completion).parts[0]?.value ?? '';
  const text = typeof told === 'string' ? told : JSON.stringify(told);
  return text.length > 240 ? `${text.slice(0, 239)}…` : text;
}

function payloadText(notice: Notice, key: string): string {
  const payload = notice.kind === 'audit' ? notice.payload : null;
  const value = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload[key] : undefined;
  return typeof value === 'string' ? value : '';
}

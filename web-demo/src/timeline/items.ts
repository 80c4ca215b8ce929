import { answerSummary, effectTitle, outcomeParts } from '../exchange';
import { plainStage, stageTone as toneOf, type Tone } from '../stage-tone';
import type { AnsweredEffect, UserInput } from '../session/turn-data';
import type { Effect, Notice, Outcome, StepInfo, TurnRecord } from '../types';
import { effectKind, type RowKind } from './kind';
import { describeNotice, isInStory } from './notices';

/** The part of a turn that the timeline reads. */
export interface TimelineTurn {
  readonly id: number;
  readonly number: number;
  readonly input: UserInput;
  readonly reason: string;
  readonly notices: Notice[];
  readonly exchanges: AnsweredEffect[];
  readonly pendingEffects: Effect[];
  readonly record: TurnRecord | undefined;
  readonly error: { code: string; message: string } | undefined;
  readonly parent: TimelineTurn | undefined;
}

/** One entry of a turn: a notice, an effect or the outcome. */
export interface TimelineItem {
  key: string;
  kind: RowKind;
  /** The number of the next notice, which is the position in the turn. */
  seq: number;
  /** The index of its step; `undefined` before the first step and at the end. */
  step: number | undefined;
  name: string;
  detail: string;
  tone: Tone;
  /** Whether it is shown in a story. */
  inStory: boolean;
  effect?: Effect;
  exchange?: AnsweredEffect;
  /** The index of the effect among the answered ones. */
  place?: number;
  notice?: Notice;
  /** The data that a search covers. */
  searchable: unknown;
}

/** The steps of a turn and its items in order. */
export interface TurnItems {
  steps: StepInfo[];
  list: TimelineItem[];
  /** Start and duration by the conversation's clock, in milliseconds. */
  startedAt: number;
  durationMs: number;
}

const itemCache = new WeakMap<TurnRecord, TurnItems>();
const textCache = new WeakMap<TimelineItem, string>();

/** Builds the items of a turn; those of finished turns are cached. */
export function turnItems(turn: TimelineTurn): TurnItems {
  const known = turn.record && itemCache.get(turn.record);
  if (known) return known;
  const items = buildItems(turn);
  if (turn.record) itemCache.set(turn.record, items);
  return items;
}

/** The searchable text of an item in lower case, with nested JSON unescaped; computed on first search. */
export function searchText(item: TimelineItem): string {
  let text = textCache.get(item);
  if (text === undefined) textCache.set(item, (text = JSON.stringify([item.name, item.detail, item.searchable]).replaceAll('\\"', '"').toLowerCase()));
  return text;
}

/** The steps of a turn, also while it runs. */
export function turnSteps({ record, notices }: Pick<TimelineTurn, 'record' | 'notices'>): StepInfo[] {
  if (record && record.steps.length > 0) return record.steps;
  const begun = notices.filter((it) => it.kind === 'audit' && ['STEP_ENTER', 'node.enter'].includes(plainStage(it.stage)));
  const name = (it: Notice) => payloadText(it, 'step') || `${payloadText(it, 'graph')}/${payloadText(it, 'node')}`;
  return begun.map((it) => ({ step: name(it), seq: it.seq, finished: true, changed: false }));
}

/** The position at which each effect was requested; for recorded turns it is derived from nearby notices. */
export function locateEffects(exchanges: AnsweredEffect[], notices: Notice[]): number[] {
  let at = 0;
  return exchanges.map(({ effect, seq, origin }) => {
    if (origin !== 'recorded') return seq;
    const requestStages = effect.request.kind === 'llm' ? /_LLM_INPUT/ : /TOOL_CALL|_REQUEST|PENDING_ACTION_EXECUTED|SET_TASK/;
    const found = notices.findIndex((it, index) => index >= at && it.kind === 'audit' && requestStages.test(it.stage));
    if (found >= 0) at = found + 1;
    return notices[at]?.seq ?? (notices.at(-1)?.seq ?? -1) + 1;
  });
}

function buildItems(turn: TimelineTurn): TurnItems {
  const { notices, exchanges, pendingEffects, record } = turn;
  const steps = turnSteps(turn);
  const stepAt = (seq: number) => {
    const next = steps.findIndex((it) => it.seq > seq);
    const at = (next < 0 ? steps.length : next) - 1;
    return at < 0 ? undefined : at;
  };
  const end = (notices.at(-1)?.seq ?? -1) + 1;
  const list: TimelineItem[] = notices.flatMap((it) => noticeItems(it, turn.id));
  const seqs = locateEffects(exchanges, notices);
  exchanges.forEach((it, place) => list.push(createEffectItem(turn.id, it.effect, seqs[place] ?? end, { exchange: it, place })));
  pendingEffects.forEach((it) => list.push(createEffectItem(turn.id, it, end, {})));
  // An effect precedes the notice of the same number.
  list.sort((a, b) => a.seq - b.seq || Number(b.effect !== undefined) - Number(a.effect !== undefined) || (a.place ?? 0) - (b.place ?? 0));
  list.forEach((it) => (it.step = it.effect && it.seq > 0 ? stepAt(it.seq - 1) : stepAt(it.seq)));
  list.push(...endItems(turn, end));
  const startedAt = record?.input.at ?? turn.input.at;
  const last = Math.max(startedAt, notices.at(-1)?.at ?? 0, ...exchanges.map((it) => it.completion.at));
  return { steps, list, startedAt, durationMs: last - startedAt };
}

function noticeItems(notice: Notice, id: number): TimelineItem[] {
  const base = { key: `${id}:n${notice.seq}`, seq: notice.seq, step: undefined, notice };
  if (notice.kind === 'verbose') {
    const isError = notice.level === 'ERROR';
    const name = notice.text || notice.determinant;
    return [{ ...base, kind: 'progress', name, detail: notice.text ? notice.determinant : 'no message text', tone: isError ? 'error' : 'normal', inStory: isError, searchable: notice }];
  }
  if (notice.kind === 'message') return [{ ...base, kind: 'reply', name: notice.message.text, detail: '', tone: 'normal', inStory: true, searchable: notice.message.blocks }];
  if (['STEP_ENTER', 'STEP_EXIT', 'node.enter'].includes(plainStage(notice.stage))) return [];
  const isFailedStep = notice.stage === 'chain.step' && payloadText(notice, 'status') === 'failed';
  const tone = isFailedStep ? 'error' : toneOf(notice.stage);
  return [{ ...base, kind: tone === 'error' ? 'error' : 'decision', ...describeNotice(notice), tone, inStory: isInStory(notice), searchable: notice }];
}

function createEffectItem(id: number, effect: Effect, seq: number, more: Pick<TimelineItem, 'exchange' | 'place'>): TimelineItem {
  const { exchange } = more;
  const failed = exchange ? outcomeParts(exchange.completion).failed : false;
  return {
    key: `${id}:e${effect.id}`,
    kind: effectKind(effect),
    seq,
    step: undefined,
    name: effectTitle(effect),
    detail: exchange ? answerText(exchange) : 'waiting for the answer',
    tone: failed ? 'error' : 'normal',
    inStory: effect.request.kind !== 'sleep',
    effect,
    searchable: [effect.request, exchange?.completion.outcome ?? null],
    ...more,
  };
}

/** The outcome of a turn: state change, fault and reply. */
function endItems(turn: TimelineTurn, seq: number): TimelineItem[] {
  const { id, record, error } = turn;
  const base = { seq, step: undefined, inStory: true };
  if (error) return [{ ...base, key: `${id}:fault`, kind: 'error', name: error.code, detail: error.message, tone: 'error', searchable: error }];
  if (!record) return [];
  const { outcome } = record;
  const out: TimelineItem[] = [];
  const change = outcome.fault ? undefined : describeChange(findPreviousOutcome(turn), outcome);
  if (change) out.push({ ...base, ...change, key: `${id}:change`, kind: 'change', tone: 'success', searchable: null });
  if (outcome.fault) {
    const { code, message } = outcome.fault;
    out.push({ ...base, key: `${id}:fault`, kind: 'error', name: code, detail: message, tone: 'error', searchable: outcome.fault });
  }
  // Flow messages are listed where they were published.
  if (outcome.payload && !outcome.flow) {
    const { value } = outcome.payload;
    out.push({ ...base, key: `${id}:reply`, kind: 'reply', name: value, detail: '', tone: 'normal', searchable: null });
  }
  return out;
}

/** The outcome of the last turn that changed the same conversation; failed and cancelled turns leave it as it was. */
function findPreviousOutcome({ input, parent }: TimelineTurn): Outcome | undefined {
  for (let at = parent; at; at = at.parent) {
    const outcome = at.record?.outcome;
    if (outcome && !outcome.fault && at.input.conversationId === input.conversationId) return outcome;
  }
  return undefined;
}

/** The change of intent and state; `undefined` if there is none. */
function describeChange(before: Outcome | undefined, after: Outcome): { name: string; detail: string } | undefined {
  const [from, to] = [intentAndState(before), intentAndState(after)];
  if (to === '' || from === to) return undefined;
  return { name: to, detail: from ? `was ${from}` : before ? 'no intent before' : 'conversation started' };
}

function intentAndState(outcome: { intent: string | null; state: string | null } | undefined): string {
  return [outcome?.intent, outcome?.state].filter((it) => it && it !== 'UNKNOWN').join(' / ');
}

/** The beginning of an answer. */
function answerText({ completion }: AnsweredEffect): string {
  const value = answerSummary(completion) ?? outcomeParts(completion).parts[0]?.value ?? '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 240 ? `${text.slice(0, 239)}…` : text;
}

function payloadText(notice: Notice, key: string): string {
  const payload = notice.kind === 'audit' ? notice.payload : null;
  const value = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload[key] : undefined;
  return typeof value === 'string' ? value : '';
}

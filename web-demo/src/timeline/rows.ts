import { conversationHeadings } from '../conversations';
import { turnItems, searchText, type TimelineItem, type TurnItems, type TimelineTurn } from './items';
import type { KindFilter, RowKind } from './kind';
import { matchesOutcome, type OutcomeFilter } from './outcome';
import { plural } from '../plural';
import { formatStepName } from './step-name';

/** The level of detail. */
export type Density = 'story' | 'steps' | 'everything';

/** Detail, filters and folding of the timeline. */
export interface TimelineFilter {
  density: Density;
  /** Only these kinds; all if empty. */
  kinds: ReadonlySet<KindFilter>;
  /** Only these outcomes; all if empty. */
  outcomes?: ReadonlySet<OutcomeFilter>;
  /** Only items that contain this text. */
  search: string;
  /** Keys of collapsed turns and steps. */
  folded: ReadonlySet<string>;
}

/** One row of the timeline. */
export interface TimelineRow<T extends TimelineTurn = TimelineTurn> {
  key: string;
  kind: RowKind;
  level: number;
  turn: T;
  /** The index of its step; `undefined` for a turn and its end. */
  step: number | undefined;
  name: string;
  detail: string;
  /** Its item; `undefined` for turns and steps. */
  item?: TimelineItem;
  /** Whether it has child rows, visible or not. */
  parent: boolean;
  expanded: boolean;
  /** Whether nothing notable happened. */
  idle: boolean;
  failed: boolean;
  changed: boolean;
  setSize: number;
  position: number;
}

/** The last layout of finished turns; most turns do not change when something is folded or a turn is added. */
const rowCache = new WeakMap<TimelineTurn, { record: TimelineTurn['record']; sign: string; rows: TimelineRow[] }>();

/** Lays out turns as rows. */
export function layOutRows<T extends TimelineTurn>(turns: T[], shown: TimelineFilter): TimelineRow<T>[] {
  const out: TimelineRow<T>[] = [];
  const search = shown.search.trim().toLowerCase();
  const sign = [shown.density, search, ...shown.kinds, ...(shown.outcomes ?? [])].join(' ');
  const folded = new Map<string, string>();
  for (const key of shown.folded) {
    const id = key.split(':')[0] ?? '';
    folded.set(id, `${folded.get(id) ?? ''} ${key}`);
  }
  const headers: TimelineRow<T>[] = [];
  const headings = conversationHeadings(turns);
  for (const turn of turns) {
    const [header, ...inside] = layOutTurn(turn, { ...shown, search }, `${sign}|${folded.get(String(turn.id)) ?? ''}`);
    if (!header) continue;
    const heading = headings.get(turn);
    const detail = [heading !== undefined && `conversation ${heading}`, header.detail].filter(Boolean).join(' · ');
    const numbered = { ...header, detail, position: headers.length + 1 };
    headers.push(numbered);
    out.push(numbered);
    for (const row of inside) out.push(row);
  }
  headers.forEach((it) => (it.setSize = headers.length));
  return out;
}

function layOutTurn<T extends TimelineTurn>(turn: T, shown: TimelineFilter, sign: string): TimelineRow<T>[] {
  const known = rowCache.get(turn);
  // The record changes when its details are loaded.
  if (known?.sign === sign && known.record === turn.record) return known.rows as TimelineRow<T>[];
  const { density, kinds, outcomes, search } = shown;
  const filtered = kinds.size > 0 || search !== '' || (outcomes?.size ?? 0) > 0;
  const items = turnItems(turn);
  const fits = items.list.filter((it) => isInDensity(it, density) && matchesKinds(it, kinds) && matchesOutcome(it, outcomes) && (search === '' || searchText(it).includes(search)));
  const children = density === 'story' ? fits.map((it) => itemRow(turn, it, 2)) : stepRows(turn, items, fits, shown, filtered);
  const expanded = !shown.folded.has(String(turn.id));
  numberRows(children);
  // A filter hides turns without matches.
  const rows = filtered && children.length === 0 ? [] : [turnRow(turn, items, children.length > 0, expanded), ...(expanded ? children : [])];
  if (turn.record) rowCache.set(turn, { record: turn.record, sign, rows });
  return rows;
}

/** Finds the row of a position: of its step, else the nearest earlier one, else of the turn. */
export function findRowAt<T extends TimelineTurn>(rows: TimelineRow<T>[], turn: T, step: number | undefined): number {
  const header = rows.findIndex((it) => it.turn === turn && it.level === 1);
  if (header < 0 || step === undefined) return header;
  let at = header;
  for (let index = header + 1; index < rows.length && rows[index]?.turn === turn; index++) {
    const row = rows[index];
    if (row?.step === step) return index;
    // In a story, the nearest earlier row stands for a step without items.
    if (row?.step !== undefined && row.step < step) at = index;
  }
  return at;
}

/** Whether a row is at a cursor position. */
export function isAtCursor<T extends TimelineTurn>(row: TimelineRow<T>, turn: T, step: number | undefined): boolean {
  return row.turn === turn && row.step === step;
}

function isInDensity({ kind, inStory, tone }: TimelineItem, density: Density): boolean {
  if (density === 'story') return inStory;
  if (density === 'everything' || kind !== 'decision') return true;
  return inStory || tone === 'success' || tone === 'warning';
}

function matchesKinds({ kind, tone }: TimelineItem, kinds: ReadonlySet<KindFilter>): boolean {
  if (kinds.size === 0) return true;
  return kinds.has(kind as KindFilter) || (kind === 'change' && kinds.has('decision')) || (tone === 'error' && kinds.has('error'));
}

function itemRow<T extends TimelineTurn>(turn: T, item: TimelineItem, level: number): TimelineRow<T> {
  const { key, kind, step, name, detail, tone } = item;
  const plain = { parent: false, expanded: false, changed: false, setSize: 0, position: 0 };
  return { ...plain, key, kind, level, turn, step, name, detail, item, idle: tone === 'idle', failed: tone === 'error' };
}

function turnRow<T extends TimelineTurn>(turn: T, items: TurnItems, parent: boolean, expanded: boolean): TimelineRow<T> {
  const { record, error } = turn;
  const effects = turn.exchanges.length;
  const detail = [turn.input.reset && 'reset', turn.reason, effects > 0 && plural(effects, 'effect')].filter(Boolean).join(' · ');
  return {
    key: String(turn.id),
    kind: 'turn',
    level: 1,
    turn,
    step: undefined,
    name: turn.input.message || 'No text',
    detail,
    parent,
    expanded: parent && expanded,
    idle: false,
    failed: error !== undefined || (record?.outcome.fault ?? null) !== null,
    changed: items.steps.some((it) => it.changed),
    setSize: 0,
    position: 0,
  };
}

function stepRows<T extends TimelineTurn>(turn: T, { steps, list }: TurnItems, fits: TimelineItem[], shown: TimelineFilter, filtered: boolean): TimelineRow<T>[] {
  const inside = new Map<number | undefined, TimelineItem[]>();
  for (const item of fits) inside.set(item.step, [...(inside.get(item.step) ?? []), item]);
  const last = list.at(-1);
  const outside = inside.get(undefined) ?? [];
  const ended = outside.filter((it) => it.seq === last?.seq && it.notice === undefined && it.effect === undefined);
  const out = outside.filter((it) => !ended.includes(it)).map((it) => itemRow(turn, it, 2));
  steps.forEach((info, index) => {
    const own = inside.get(index) ?? [];
    if (filtered && own.length === 0) return;
    const key = `${turn.id}:s${index}`;
    const expanded = own.length > 0 && !shown.folded.has(key);
    const detail = own.length === 0 ? '' : plural(own.length, 'entry');
    const row: TimelineRow<T> = {
      key,
      kind: 'step',
      level: 2,
      turn,
      step: index,
      name: formatStepName(info.step),
      detail: expanded ? '' : detail,
      parent: own.length > 0,
      expanded,
      idle: own.length === 0 || own.every((it) => it.tone === 'idle'),
      failed: !info.finished || own.some((it) => it.notice?.kind === 'audit' && it.notice.stage === 'STEP_ERROR'),
      changed: info.changed,
      setSize: 0,
      position: 0,
    };
    out.push(row);
    if (expanded) out.push(...own.map((it) => itemRow(turn, it, 3)));
  });
  return [...out, ...ended.map((it) => itemRow(turn, it, 2))];
}

/** Sets the position of each row among its siblings, and their number. */
function numberRows<T extends TimelineTurn>(rows: TimelineRow<T>[]): void {
  const open: TimelineRow<T>[][] = [[]];
  const close = (level: number) => {
    for (const set of open.splice(level)) set.forEach((it) => (it.setSize = set.length));
  };
  for (const row of rows) {
    close(row.level);
    const set = (open[row.level - 1] ??= []);
    set.push(row);
    row.position = set.length;
  }
  close(0);
}

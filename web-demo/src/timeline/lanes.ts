import { turnItems, type TimelineItem, type TimelineTurn } from './items';
import { KIND_LABELS, type RowKind } from './kind';
import { formatStepName } from './step-name';

/** A bar of a lane: engine work up to a request, or one effect. */
export interface Bar {
  key: string;
  /** The zero-based index of its column. */
  column: number;
  /** The column where the room for its name ends: that of the next bar in the lane, or the one after all. */
  until: number;
  /** The share of that room that is its own column, from 0 to 1. */
  share: number;
  name: string;
  /** The step to select, if known. */
  step: number | undefined;
  /** How many steps it covers; `undefined` for an effect. */
  steps: number | undefined;
  item: TimelineItem | undefined;
  /** Start by the conversation's clock since the beginning of the turn, in milliseconds. */
  startMs: number;
  durationMs: number;
}

/** The bars of one kind. */
export interface Lane {
  kind: RowKind | 'engine';
  title: string;
  bars: Bar[];
}

/** A column, shared by all lanes. */
export interface Column {
  startMs: number;
  /** Whether time has passed since the previous column. */
  isLater: boolean;
  /** Its relative width: 1 plus a share of its duration. */
  weight: number;
}

/** The lanes of a turn. */
export interface Lanes {
  lanes: Lane[];
  /** The columns in order; room for the name of the last bar follows. */
  columns: Column[];
  /** The duration of the turn, in milliseconds. */
  durationMs: number;
}

/** What the longest wait adds to the width of a column. */
const MAX_WAIT_WEIGHT = 5;
/** The width of the room after the last column. */
export const TAIL_WEIGHT = 3;
const ORDER: Lane['kind'][] = ['engine', 'model', 'tool', 'task', 'service', 'knowledge', 'code', 'handoff', 'wait'];

/**
 * Lays out a turn as lanes, with a column for each stretch of engine work and for each effect, in order.
 * Columns that take time are wider; most answers take none and would overlap on a linear time axis.
 */
export function layOutLanes(turn: TimelineTurn): Lanes {
  const { list, steps, startedAt, durationMs } = turnItems(turn);
  const columns: Column[] = [];
  const bars = new Map<Lane['kind'], Bar[]>();
  const effects = list.filter((it) => it.effect);
  let now = 0;
  let next = 0;
  let before: TimelineItem | undefined;

  function addBar(kind: Lane['kind'], bar: Omit<Bar, 'column' | 'until' | 'share' | 'key'>, key: string): void {
    const last = columns.at(-1);
    const weight = durationMs > 0 ? 1 + (MAX_WAIT_WEIGHT * bar.durationMs) / durationMs : 1;
    columns.push({ startMs: bar.startMs, isLater: last === undefined || bar.startMs > last.startMs, weight });
    bars.set(kind, [...(bars.get(kind) ?? []), { ...bar, key, column: columns.length - 1, until: 0, share: 1 }]);
  }

  function addEngineBar(upTo: number): void {
    const name = formatStepName(steps[upTo]?.step ?? '');
    addBar('engine', { name, step: upTo, steps: upTo - next + 1, item: undefined, startMs: now, durationMs: 0 }, `${turn.id}:w${columns.length}`);
    next = upTo;
  }

  for (const item of effects) {
    // Effects requested together have no engine work between them.
    if (item.step !== undefined && item.seq !== before?.seq) addEngineBar(item.step);
    const { exchange } = item;
    const delay = exchange?.delayMs ?? 0;
    const startMs = exchange ? Math.max(0, exchange.completion.at - delay - startedAt) : now;
    addBar(item.kind, { name: item.name, step: item.step, steps: undefined, item, startMs, durationMs: delay }, item.key);
    now = Math.max(now, startMs + delay);
    before = item;
  }
  if (steps.length > 0 && turn.pendingEffects.length === 0) addEngineBar(steps.length - 1);

  const lanes = ORDER.flatMap((kind) => {
    const own = bars.get(kind);
    return own ? [{ kind, title: kind === 'engine' ? 'Engine' : KIND_LABELS[kind], bars: fitBars(own, columns) }] : [];
  });
  return { lanes, columns, durationMs };
}

function fitBars(bars: Bar[], columns: Column[]): Bar[] {
  const width = (from: number, to: number) => columns.slice(from, to).reduce((sum, it) => sum + it.weight, to > columns.length ? TAIL_WEIGHT : 0);
  return bars.map((bar, index) => {
    const until = bars[index + 1]?.column ?? columns.length + 1;
    return { ...bar, until, share: width(bar.column, bar.column + 1) / width(bar.column, until) };
  });
}

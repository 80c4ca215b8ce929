import { turnItems, type TimelineItem, type TimelineTurn } from './items';
import { KIND_LABELS, type RowKind } from './kind';
import { formatStepName } from './step-name';

/** A stretch of a lane: what the engine did until it asked, or one effect. */
export interface Bar {
  key: string;
  /** The place of its column, from zero. */
  column: number;
  /** The column of the next one in its lane, or the one after all: until there is room for its name. */
  until: number;
  /** How much of that room is its own column, from zero to one. */
  share: number;
  name: string;
  /** The step to go to; nothing when it is not known. */
  step: number | undefined;
  /** How many steps it stands for; nothing for an effect. */
  steps: number | undefined;
  item: TimelineItem | undefined;
  /** The time of the conversation's clock since the turn began, in milliseconds. */
  startMs: number;
  durationMs: number;
}

/** All that one kind of worker did in a turn. */
export interface Lane {
  kind: RowKind | 'engine';
  title: string;
  bars: Bar[];
}

/** A moment of the turn, which all lanes share. */
export interface Column {
  startMs: number;
  /** Whether time has passed since the column before. */
  isLater: boolean;
  /** How wide it is: one, and more the longer it takes. */
  weight: number;
}

/** A turn as lanes over time. */
export interface Lanes {
  lanes: Lane[];
  /** The moments in their order; after them there is room for the name of what ended the turn. */
  columns: Column[];
  /** The time that passed in the turn, in milliseconds. */
  durationMs: number;
}

/** What the longest wait adds to the width of a moment. */
const MAX_WAIT_WEIGHT = 5;
/** The width of the room after the last moment. */
export const TAIL_WEIGHT = 3;
const ORDER: Lane['kind'][] = ['engine', 'model', 'tool', 'task', 'service', 'wait'];

/**
 * Lays a turn out as lanes: a moment for each stretch of the engine's work and for each effect, in their order.
 * Moments that take time are as much wider; most answers take none, and would lie upon each other on a plain axis.
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
    // What is asked for at the same moment has no work between it.
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

import { itemsOf, type Item, type Told } from './items';
import { WORDS, type Kind } from './kind';
import { stepName } from './step-name';

/** A stretch of a lane: what the engine did until it asked, or one effect. */
export interface Bar {
  key: string;
  /** The place of its column, from zero. */
  column: number;
  /** The column of the next one in its lane, or the one after all: until there is room for its name. */
  until: number;
  /** How much of that room is its own column, from zero to one. */
  part: number;
  name: string;
  /** The step to go to; nothing when it is not known. */
  step: number | undefined;
  /** How many steps it stands for; nothing for an effect. */
  steps: number | undefined;
  item: Item | undefined;
  /** The time of the conversation's clock since the turn began, in milliseconds. */
  begins: number;
  took: number;
}

/** All that one kind of worker did in a turn. */
export interface Lane {
  kind: Kind | 'engine';
  title: string;
  bars: Bar[];
}

/** A moment of the turn, which all lanes share. */
export interface Column {
  begins: number;
  /** Whether time has passed since the column before. */
  later: boolean;
  /** How wide it is: one, and more the longer it takes. */
  weight: number;
}

/** A turn as lanes over time. */
export interface Lanes {
  lanes: Lane[];
  /** The moments in their order; after them there is room for the name of what ended the turn. */
  columns: Column[];
  /** The time that passed in the turn, in milliseconds. */
  took: number;
}

/** What the longest wait adds to the width of a moment. */
const LONGEST = 5;
/** The width of the room after the last moment. */
export const TAIL = 3;
const ORDER: Lane['kind'][] = ['engine', 'model', 'tool', 'task', 'service', 'wait'];

/**
 * Lays a turn out as lanes: a moment for each stretch of the engine's work and for each effect, in their order.
 * Moments that take time are as much wider; most answers take none, and would lie upon each other on a plain axis.
 */
export function lanesOf(turn: Told): Lanes {
  const { list, steps, begin, took } = itemsOf(turn);
  const columns: Column[] = [];
  const bars = new Map<Lane['kind'], Bar[]>();
  const effects = list.filter((it) => it.effect);
  let now = 0;
  let next = 0;
  let before: Item | undefined;

  function put(kind: Lane['kind'], bar: Omit<Bar, 'column' | 'until' | 'part' | 'key'>, key: string): void {
    const last = columns.at(-1);
    const weight = took > 0 ? 1 + (LONGEST * bar.took) / took : 1;
    columns.push({ begins: bar.begins, later: last === undefined || bar.begins > last.begins, weight });
    bars.set(kind, [...(bars.get(kind) ?? []), { ...bar, key, column: columns.length - 1, until: 0, part: 1 }]);
  }

  function work(upTo: number): void {
    const name = stepName(steps[upTo]?.step ?? '');
    put('engine', { name, step: upTo, steps: upTo - next + 1, item: undefined, begins: now, took: 0 }, `${turn.id}:w${columns.length}`);
    next = upTo;
  }

  for (const item of effects) {
    // What is asked for at the same moment has no work between it.
    if (item.step !== undefined && item.seq !== before?.seq) work(item.step);
    const { answered } = item;
    const delay = answered?.delayMs ?? 0;
    const begins = answered ? Math.max(0, answered.completion.at - delay - begin) : now;
    put(item.kind, { name: item.name, step: item.step, steps: undefined, item, begins, took: delay }, item.key);
    now = Math.max(now, begins + delay);
    before = item;
  }
  if (steps.length > 0 && turn.waiting.length === 0) work(steps.length - 1);

  const lanes = ORDER.flatMap((kind) => {
    const own = bars.get(kind);
    return own ? [{ kind, title: kind === 'engine' ? 'Engine' : WORDS[kind], bars: withRoom(own, columns) }] : [];
  });
  return { lanes, columns, took };
}

function withRoom(bars: Bar[], columns: Column[]): Bar[] {
  const width = (from: number, to: number) => columns.slice(from, to).reduce((sum, it) => sum + it.weight, to > columns.length ? TAIL : 0);
  return bars.map((bar, index) => {
    const until = bars[index + 1]?.column ?? columns.length + 1;
    return { ...bar, until, part: width(bar.column, bar.column + 1) / width(bar.column, until) };
  });
}

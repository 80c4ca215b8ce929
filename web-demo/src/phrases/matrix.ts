/** The confusion matrix of a report. */
import type { PhraseReport } from './report';

/** Counts of phrases: a row for the intent to which they belong, a column for the one that they were taken for. */
export interface ConfusionMatrix {
  intents: string[];
  counts: number[][];
  /** The number of confused intents that are left out. */
  hidden: number;
}

/** The intents of a matrix that fits on a screen. */
const LIMIT = 12;

/** Builds the matrix of all intents, or of the most confused ones if there are many; `undefined` if none is confused. */
export function confusionMatrix({ classes, confusions }: PhraseReport): ConfusionMatrix | undefined {
  const confused = new Map<string, number>();
  for (const it of confusions) {
    for (const name of [it.class, it.taken_for]) confused.set(name, (confused.get(name) ?? 0) + it.count);
  }
  if (confused.size === 0) return undefined;
  const most = [...confused].toSorted((a, b) => b[1] - a[1]).slice(0, LIMIT).map(([name]) => name);
  const shown = classes.filter((it) => classes.length <= LIMIT || most.includes(it.class));
  const counts = shown.map((row) =>
    shown.map((column) => {
      if (row === column) return Math.round(row.recall * row.phrases);
      return confusions.find((it) => it.class === row.class && it.taken_for === column.class)?.count ?? 0;
    }),
  );
  return { intents: shown.map((it) => it.class), counts, hidden: Math.max(0, confused.size - LIMIT) };
}

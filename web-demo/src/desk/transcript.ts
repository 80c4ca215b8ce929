import type { Entry } from './types';

/**
 * Gives each entry a key that it keeps while the server drops old entries, so that a screen reader hears only new ones: its turn, role and
 * text, and the number of equal entries before it.
 */
export function keyed(history: Entry[]): { key: string; entry: Entry }[] {
  const seen = new Map<string, number>();
  return history.map((entry) => {
    const base = `${entry.turn} ${entry.role} ${entry.text}`;
    const count = seen.get(base) ?? 0;
    seen.set(base, count + 1);
    return { key: `${base} ${count}`, entry };
  });
}

/** The messages of the user that a newer transcript adds. */
export function addedByUser(before: Entry[], after: Entry[]): Entry[] {
  const known = new Set(keyed(before).map((it) => it.key));
  return keyed(after)
    .filter((it) => !known.has(it.key))
    .map((it) => it.entry)
    .filter((it) => it.role === 'user');
}

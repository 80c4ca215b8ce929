/** Tries a pattern of a row on texts, as nearly as a browser can: the engine itself speaks the patterns of Java. */

/** What came of it. */
export interface Tried {
  /** Why the browser could not try it; empty when it could. */
  fault: string;
  /** Whether the engine may see it differently. */
  near: boolean;
  matches: { text: string; found: boolean }[];
}

/** The columns that hold patterns. */
const COLUMNS = ['match_pattern', 'pattern'];

/** The column of a row that can be tried on texts, with the kind of its pattern; nothing for rows that have none. */
export function patternOf(cells: Record<string, string | undefined>): { column: string; kind: string; pattern: string } | undefined {
  const column = COLUMNS.find((it) => cells[it] !== undefined);
  const kind = (cells['rule_type'] ?? 'REGEX').trim().toUpperCase();
  if (!column || !['REGEX', 'EXACT', 'CONTAINS', 'STARTS_WITH'].includes(kind)) return undefined;
  return { column, kind, pattern: cells[column] ?? '' };
}

/** Tries a pattern; case does not count. */
export function tryOn(kind: string, pattern: string, texts: string[]): Tried {
  const lower = pattern.toLowerCase();
  const on = (found: (text: string) => boolean, near = false): Tried => ({ fault: '', near, matches: texts.map((text) => ({ text, found: found(text) })) });
  if (kind === 'EXACT') return on((text) => text.trim().toLowerCase() === lower.trim());
  if (kind === 'CONTAINS') return on((text) => text.toLowerCase().includes(lower));
  if (kind === 'STARTS_WITH') return on((text) => text.toLowerCase().startsWith(lower));
  try {
    const expression = compiled(pattern);
    return on((text) => expression.test(text), true);
  } catch (error) {
    return { fault: (error as Error).message, near: true, matches: [] };
  }
}

function compiled(pattern: string): RegExp {
  // Case never counts, so that the flag that says so is no news; browsers do not know it in this place.
  const plain = pattern.replace(/^\(\?i\)/, '');
  try {
    return new RegExp(plain, 'iu');
  } catch {
    // Without `u` more escapes are allowed, as in Java.
    return new RegExp(plain, 'i');
  }
}

/** Which column of a row holds a pattern, and of which kind it is. */

/** The columns that hold patterns. */
const COLUMNS = ['match_pattern', 'pattern'];

/** The column of a row that can be tried on texts, with the kind of its pattern; nothing for rows that have none. */
export function patternOf(cells: Record<string, string | undefined>): { column: string; kind: string; pattern: string } | undefined {
  const column = COLUMNS.find((it) => cells[it] !== undefined);
  const kind = (cells['rule_type'] ?? 'REGEX').trim().toUpperCase();
  if (!column || !['REGEX', 'EXACT', 'CONTAINS', 'STARTS_WITH'].includes(kind)) return undefined;
  return { column, kind, pattern: cells[column] ?? '' };
}

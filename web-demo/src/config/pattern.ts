/** Columns that hold patterns. */
const PATTERN_COLUMNS = ['match_pattern', 'pattern'];

/** Finds the testable pattern of a row with its column and kind. */
export function findPattern(cells: Record<string, string | undefined>): { column: string; kind: string; pattern: string } | undefined {
  const column = PATTERN_COLUMNS.find((it) => cells[it] !== undefined);
  const kind = (cells['rule_type'] ?? 'REGEX').trim().toUpperCase();
  if (!column || !['REGEX', 'EXACT', 'CONTAINS', 'STARTS_WITH'].includes(kind)) return undefined;
  return { column, kind, pattern: cells[column] ?? '' };
}

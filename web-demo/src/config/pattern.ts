/** Columns that hold patterns. */
const PATTERN_COLUMNS = ['match_pattern', 'pattern'];

/** Types whose pattern is matched. The pattern of other types, such as EXAMPLE, is a phrase. */
const PATTERN_TYPES = ['REGEX', 'EXACT', 'CONTAINS', 'STARTS_WITH'];

/** Types of classifier rows, which other packs may not use. */
export const CLASSIFIER_TYPES = [...PATTERN_TYPES, 'EXAMPLE', 'SEMANTIC'];

type Cells = Record<string, string | undefined>;

/** Finds the testable pattern of a row with its column and kind. */
export function findPattern(cells: Cells): { column: string; kind: string; pattern: string } | undefined {
  const column = PATTERN_COLUMNS.find((it) => cells[it] !== undefined);
  const kind = ruleType(cells);
  if (!column || !PATTERN_TYPES.includes(kind)) return undefined;
  return { column, kind, pattern: cells[column] ?? '' };
}

/** Whether a classifier learns from a row: its pattern is a phrase. */
export function isExample(cells: Cells): boolean {
  return ruleType(cells) === 'EXAMPLE';
}

function ruleType(cells: Cells): string {
  return (cells['rule_type'] ?? 'REGEX').trim().toUpperCase();
}

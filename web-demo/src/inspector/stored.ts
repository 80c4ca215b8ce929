import { filterChanges, diffRows, type DiffRow } from '../diff';
import type { Json, JsonObject, Outcome } from '../types';

/** The conversation row that a turn stores, and its other writes. */
export interface StoredRows {
  row: [column: string, value: Json][];
  others: { table: string; values: JsonObject }[];
}

/** Values longer than this are flagged, in characters. */
export const LARGE_VALUE_CHARS = 16 * 1024;

/** Reads the rows that a turn writes. */
export function readStoredRows({ writes }: Outcome): StoredRows {
  const all = writes.filter((it): it is JsonObject => typeof it === 'object' && it !== null && !Array.isArray(it));
  const conversation = all.find((it) => it['table'] === 'conversation');
  return {
    row: Object.entries(conversation ?? {}).filter(([key]) => key !== 'table'),
    others: all.filter((it) => it !== conversation).map(({ table, ...values }) => ({ table: String(table), values })),
  };
}

/** Lists session values at the end of a turn that are not stored, so the next turn does not see them. */
export function findUnstored(session: JsonObject, { row }: StoredRows): DiffRow[] {
  const stored = Object.fromEntries(row);
  if (row.length === 0) return [];
  const lost = [
    ...diffRows({ context: session['context'] ?? {} }, { context: stored['context'] ?? {} }),
    ...diffRows({ inputParams: session['inputParams'] ?? {} }, { inputParams: stored['params'] ?? {} }),
  ];
  // Null counts as absent.
  return filterChanges(lost).filter((it) => !it.opens && it.change !== 'added' && it.before !== 'null');
}

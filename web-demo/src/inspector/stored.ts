import { filterChanges, diffRows, type DiffRow } from '../diff';
import type { Json, JsonObject, Outcome } from '../types';

/** The conversation as a turn stores it, and what else it writes. */
export interface StoredRows {
  row: [column: string, value: Json][];
  others: { table: string; values: JsonObject }[];
}

/** A value beyond this is worth a remark, in characters. */
export const LARGE_VALUE_CHARS = 16 * 1024;

/** Reads what a turn writes. */
export function readStoredRows({ writes }: Outcome): StoredRows {
  const all = writes.filter((it): it is JsonObject => typeof it === 'object' && it !== null && !Array.isArray(it));
  const conversation = all.find((it) => it['table'] === 'conversation');
  return {
    row: Object.entries(conversation ?? {}).filter(([key]) => key !== 'table'),
    others: all.filter((it) => it !== conversation).map(({ table, ...values }) => ({ table: String(table), values })),
  };
}

/** Lists what stands in the session at the end of a turn and not in the row that is stored: the next turn will not see it. */
export function findUnstored(session: JsonObject, { row }: StoredRows): DiffRow[] {
  const stored = Object.fromEntries(row);
  if (row.length === 0) return [];
  const lost = [
    ...diffRows({ context: session['context'] ?? {} }, { context: stored['context'] ?? {} }),
    ...diffRows({ inputParams: session['inputParams'] ?? {} }, { inputParams: stored['params'] ?? {} }),
  ];
  // What is null is as good as absent.
  return filterChanges(lost).filter((it) => !it.opens && it.change !== 'added' && it.before !== 'null');
}

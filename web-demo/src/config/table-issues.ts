import type { PackTable } from '../pack/rows';
import type { LocatedIssue } from '../simulator.svelte';
import { parseRowPath } from './findings';
import { findRow } from './grid';

/** The issues of one table, grouped by the cell that shows them. */
export interface TableIssues {
  /** By row index, then by column; `WHOLE_ROW` for issues of the row itself. */
  rows: Map<number, Map<string, LocatedIssue[]>>;
  /** Issues that belong to no row. */
  unplaced: LocatedIssue[];
}

/** The key of issues about a whole row. */
export const WHOLE_ROW = '';

/** Groups the issues of a table by the cell that shows them. */
export function groupIssues(table: PackTable, issues: LocatedIssue[]): TableIssues {
  const out: TableIssues = { rows: new Map(), unplaced: [] };
  for (const issue of issues) {
    const place = parseRowPath(issue.path);
    if (place?.table !== table.name) continue;
    const row = place.row === undefined ? -1 : findNamedRow(table, place.row);
    if (row < 0) {
      out.unplaced.push(issue);
      continue;
    }
    const columns = out.rows.get(row) ?? new Map<string, LocatedIssue[]>();
    out.rows.set(row, columns);
    const column = place.column ?? WHOLE_ROW;
    columns.set(column, [...(columns.get(column) ?? []), issue]);
  }
  return out;
}

/** Returns the index of the row that an issue names, by id or else by index; -1 for none. */
export function findNamedRow(table: PackTable, name: string): number {
  const byId = findRow(table, name);
  if (byId >= 0) return byId;
  return /^\d+$/.test(name) && Number(name) < table.rows.length ? Number(name) : -1;
}

/** Counts errors and warnings by table. */
export function issuesByTable(issues: LocatedIssue[]): Map<string, { errors: number; warnings: number }> {
  const out = new Map<string, { errors: number; warnings: number }>();
  for (const { path, severity } of issues) {
    const table = parseRowPath(path)?.table;
    if (!table) continue;
    const sum = out.get(table) ?? { errors: 0, warnings: 0 };
    out.set(table, sum);
    sum[severity === 'error' ? 'errors' : 'warnings']++;
  }
  return out;
}

import type { Table } from '../pack/rows';
import type { PlacedIssue } from '../simulator.svelte';
import { rowPlace } from './findings';
import { rowWith } from './grid';

/** The issues of one table by where they are shown. */
export interface TableIssues {
  /** By row, then by column; without a column they stand for the row. */
  rows: Map<number, Map<string, PlacedIssue[]>>;
  /** Those that no row shows. */
  rest: PlacedIssue[];
}

/** What is found for a row as a whole. */
export const WHOLE_ROW = '';

/** Gives each issue of a table to the cell where it is shown. */
export function issuesOf(table: Table, issues: PlacedIssue[]): TableIssues {
  const out: TableIssues = { rows: new Map(), rest: [] };
  for (const issue of issues) {
    const place = rowPlace(issue.path);
    if (place?.table !== table.name) continue;
    const row = place.row === undefined ? -1 : rowNamed(table, place.row);
    if (row < 0) {
      out.rest.push(issue);
      continue;
    }
    const columns = out.rows.get(row) ?? new Map<string, PlacedIssue[]>();
    out.rows.set(row, columns);
    const column = place.column ?? WHOLE_ROW;
    columns.set(column, [...(columns.get(column) ?? []), issue]);
  }
  return out;
}

/** Where a row stands that an issue names: by its id, or by its place where rows have no ids; -1 for none. */
export function rowNamed(table: Table, name: string): number {
  const byId = rowWith(table, name);
  if (byId >= 0) return byId;
  return /^\d+$/.test(name) && Number(name) < table.rows.length ? Number(name) : -1;
}

/** How many issues each table has. */
export function issuesByTable(issues: PlacedIssue[]): Map<string, { errors: number; warnings: number }> {
  const out = new Map<string, { errors: number; warnings: number }>();
  for (const { path, severity } of issues) {
    const table = rowPlace(path)?.table;
    if (!table) continue;
    const sum = out.get(table) ?? { errors: 0, warnings: 0 };
    out.set(table, sum);
    sum[severity === 'error' ? 'errors' : 'warnings']++;
  }
  return out;
}

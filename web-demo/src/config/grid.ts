/** Keyboard navigation in a grid, and ids of table rows. */
import type { PackRow, PackTable } from '../pack/rows';
import { idColumn } from './id-column';
import { idText } from './value';

/** A cell by zero-based row and column; the header is not a row. */
export interface CellPosition {
  row: number;
  column: number;
}

/** The part of a keyboard event that a grid reads. */
export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
}

const PAGE_ROWS = 10;

/** Returns the cell that a key moves to; `undefined` for other keys. */
export function moveCell(from: CellPosition, { key, ctrlKey, metaKey }: KeyPress, rows: number, columns: number): CellPosition | undefined {
  const toEdge = ctrlKey || metaKey;
  const to = (row: number, column: number): CellPosition => ({
    row: Math.max(0, Math.min(row, rows - 1)),
    column: Math.max(0, Math.min(column, columns - 1)),
  });
  const { row, column } = from;
  switch (key) {
    case 'ArrowUp':
      return to(toEdge ? 0 : row - 1, column);
    case 'ArrowDown':
      return to(toEdge ? rows : row + 1, column);
    case 'ArrowLeft':
      return to(row, toEdge ? 0 : column - 1);
    case 'ArrowRight':
      return to(row, toEdge ? columns : column + 1);
    case 'Home':
      return to(toEdge ? 0 : row, 0);
    case 'End':
      return to(toEdge ? rows : row, columns);
    case 'PageUp':
      return to(row - PAGE_ROWS, column);
    case 'PageDown':
      return to(row + PAGE_ROWS, column);
    default:
      return undefined;
  }
}

/** Orders columns with the id column first; an empty name takes its place where there is none. */
export function orderColumns(table: string, columns: string[]): string[] {
  const first = idColumn(table, columns) ?? '';
  return [first, ...columns.filter((it) => it !== first)];
}

/** The id of a row; empty where the table has no id column. */
export function rowId(table: PackTable, row: PackRow | undefined): string {
  const column = idColumn(table.name, table.columns);
  return column ? idText(row?.cells[column]?.text) : '';
}

/** Returns the index of the row with an id; -1 for none. */
export function findRow(table: PackTable, id: string): number {
  return table.rows.findIndex((it) => rowId(table, it) === id);
}

/** An unused id: the next number, or the code with a numeric suffix. */
export function nextId(table: PackTable, like: string | undefined): string | undefined {
  const column = idColumn(table.name, table.columns);
  if (!column) return undefined;
  const taken = new Set(table.rows.map((it) => idText(it.cells[column]?.text)));
  const numbers = [...taken].filter((it) => /^\d+$/.test(it)).map(Number);
  if (like === undefined ? !column.endsWith('_code') : /^-?\d+$/.test(like)) return String(Math.max(0, ...numbers) + 1);
  const stem = (like ?? 'NEW').replace(/_\d+$/, '');
  let number = 2;
  while (taken.has(`${stem}_${number}`)) number++;
  return JSON.stringify(like === undefined && !taken.has(stem) ? stem : `${stem}_${number}`);
}

/** A copy of a row with a new id, as JSON. */
export function duplicateRow(table: PackTable, row: PackRow): string {
  const column = idColumn(table.name, table.columns);
  const id = nextId(table, rowId(table, row));
  const cells = Object.entries(row.cells).map(([name, cell]) => [name, name === column && id ? id : cell.text] as const);
  return toJson(cells);
}

/** A new row with an id and scope columns, as JSON. */
export function createRow(table: PackTable): string {
  const column = idColumn(table.name, table.columns);
  const id = nextId(table, undefined);
  const scope = ['intent_code', 'state_code'].filter((it) => it !== column && table.columns.includes(it));
  const cells = [...(column && id ? [[column, id] as const] : []), ...scope.map((it) => [it, '"ANY"'] as const)];
  return toJson(cells);
}

function toJson(cells: readonly (readonly [string, string])[]): string {
  return `{${cells.map(([name, text]) => `${JSON.stringify(name)}: ${text}`).join(', ')}}`;
}

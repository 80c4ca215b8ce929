/** Where the keyboard goes in a grid of rows and columns, and what the rows of a table are called. */
import type { Row, Table } from '../pack/rows';
import { idColumn } from './ids';
import { idText } from './value';

/** A cell, counted from zero; the rows stand below the header. */
export interface At {
  row: number;
  column: number;
}

/** What a grid needs to know of a key. */
export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
}

const PAGE = 10;

/** Gives the cell that a key leads to; nothing for keys that move nothing. */
export function moved(from: At, { key, ctrlKey, metaKey }: Key, rows: number, columns: number): At | undefined {
  const far = ctrlKey || metaKey;
  const to = (row: number, column: number): At => ({
    row: Math.max(0, Math.min(row, rows - 1)),
    column: Math.max(0, Math.min(column, columns - 1)),
  });
  const { row, column } = from;
  switch (key) {
    case 'ArrowUp':
      return to(far ? 0 : row - 1, column);
    case 'ArrowDown':
      return to(far ? rows : row + 1, column);
    case 'ArrowLeft':
      return to(row, far ? 0 : column - 1);
    case 'ArrowRight':
      return to(row, far ? columns : column + 1);
    case 'Home':
      return to(far ? 0 : row, 0);
    case 'End':
      return to(far ? rows : row, columns);
    case 'PageUp':
      return to(row - PAGE, column);
    case 'PageDown':
      return to(row + PAGE, column);
    default:
      return undefined;
  }
}

/** The columns in the order in which they are read: what names the row comes first, and nothing stands there where nothing does. */
export function ordered(table: string, columns: string[]): string[] {
  const first = idColumn(table, columns) ?? '';
  return [first, ...columns.filter((it) => it !== first)];
}

/** What a row is called, in its table. */
export function idOf(table: Table, row: Row | undefined): string {
  const column = idColumn(table.name, table.columns);
  return column ? idText(row?.cells[column]?.text) : '';
}

/** Where the row with this id stands; -1 for none. */
export function rowWith(table: Table, id: string): number {
  return table.rows.findIndex((it) => idOf(table, it) === id);
}

/** An id that no row has yet: the next number, or the name with a number behind it. */
export function freshId(table: Table, like: string | undefined): string | undefined {
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

/** A row like another one, with an id of its own, as JSON. */
export function copyOf(table: Table, row: Row): string {
  const column = idColumn(table.name, table.columns);
  const fresh = freshId(table, idOf(table, row));
  const cells = Object.entries(row.cells).map(([name, cell]) => [name, name === column && fresh ? fresh : cell.text] as const);
  return json(cells);
}

/** A new row with nothing but an id and what all the rows there have in common, as JSON. */
export function newRow(table: Table): string {
  const column = idColumn(table.name, table.columns);
  const fresh = freshId(table, undefined);
  const scope = ['intent_code', 'state_code'].filter((it) => it !== column && table.columns.includes(it));
  const cells = [...(column && fresh ? [[column, fresh] as const] : []), ...scope.map((it) => [it, '"ANY"'] as const)];
  return json(cells);
}

function json(cells: readonly (readonly [string, string])[]): string {
  return `{${cells.map(([name, text]) => `${JSON.stringify(name)}: ${text}`).join(', ')}}`;
}

/**
 * Changes rows in the text of a pack, and leaves all other text as its author wrote it.
 *
 * Every change gives a new text; a text that is not JSON throws a `JsonFault`.
 */
import { spans, type Span } from '../json-text';
import { colon, filled, gap, inline, objectText, put, styleOf, without, type Style } from './layout';

/** A value of a row, as it is written. */
export interface Cell {
  start: number;
  end: number;
  text: string;
}

/** A row with its place. */
export interface Row {
  start: number;
  end: number;
  cells: Record<string, Cell>;
}

/** A table with the columns that its rows use, in the order in which they first appear. */
export interface Table {
  name: string;
  columns: string[];
  rows: Row[];
}

/** Lists the tables of a pack. */
export function tablesOf(text: string): Table[] {
  const tables = spans(text).members?.get('tables')?.members ?? new Map<string, Span>();
  return [...tables].map(([name, list]) => {
    const rows = (list.elements ?? []).map((it) => ({ start: it.start, end: it.end, cells: cells(text, it) }));
    return { name, columns: [...new Set(rows.flatMap((it) => Object.keys(it.cells)))], rows };
  });
}

/** Writes a value, given as JSON, into a row; without a value the column leaves the row. */
export function setCell(text: string, table: string, row: number, column: string, json: string | undefined): string {
  if (json !== undefined) spans(json);
  const list = listOf(text, table);
  const object = rowOf(list, table, row);
  if (!object.members) throw new Error(`row ${row + 1} of '${table}' is no object: write it as {…} first`);
  const old = object.members.get(column);
  if (json === undefined) {
    if (!old) return text;
    const members = [...object.members.values()].map((it) => ({ start: it.key?.start ?? it.start, end: it.end }));
    const rest = without(text, object, members, [...object.members.keys()].indexOf(column));
    // A name that stands twice would leave its first value behind.
    return setCell(rest, table, row, column, undefined);
  }
  if (old) return put(text, old.start, old.end, json);
  return addMember(text, object, column, json, styleIn(text, list) ?? inline(text));
}

/** Adds a row, given as JSON, to the end of a table, which is made when there is none; it is laid out like the row before it. */
export function addRow(text: string, table: string, json: string): string {
  const row = spans(json);
  if (!row.members) throw new Error(`a row of '${table}' is a JSON object: write it as {…}`);
  if (!tables(text)?.members?.has(table)) return addRow(addTable(text, table), table, json);
  const list = listOf(text, table);
  const members = [...row.members].map(([key, it]): [string, string] => [key, json.slice(it.start, it.end)]);
  const style = styleIn(text, list) ?? [...(tables(text)?.members?.values() ?? [])].map((it) => styleIn(text, it)).find(Boolean);
  return addItem(text, list, objectText(members, style ?? inline(text)));
}

/** Takes a row out of its table. */
export function removeRow(text: string, table: string, row: number): string {
  const list = listOf(text, table);
  rowOf(list, table, row);
  return without(text, list, list.elements ?? [], row);
}

/** Adds an empty table, unless there is one of this name. */
export function addTable(text: string, table: string): string {
  const root = spans(text);
  const all = root.members?.get('tables');
  if (!all) {
    if (!root.members) throw new Error('a pack is a JSON object: write it as {…}');
    return addTable(addMember(text, root, 'tables', '{}'), table);
  }
  if (!all.members) throw new Error("'tables' is no object: write it as {…}");
  return all.members.has(table) ? text : addMember(text, all, table, '[]');
}

function cells(text: string, row: Span): Record<string, Cell> {
  const members = [...(row.members ?? [])];
  return Object.fromEntries(members.map(([key, { start, end }]) => [key, { start, end, text: text.slice(start, end) }]));
}

function tables(text: string): Span | undefined {
  return spans(text).members?.get('tables');
}

function listOf(text: string, table: string): Span {
  const list = tables(text)?.members?.get(table);
  if (!list) throw new Error(`there is no table '${table}': add it first`);
  if (!list.elements) throw new Error(`'${table}' is no list of rows: write it as […]`);
  return list;
}

function rowOf(list: Span, table: string, row: number): Span {
  const found = list.elements?.[row];
  if (!found) throw new Error(`'${table}' has no row ${row + 1}`);
  return found;
}

/** How the last row of a list that has values is laid out. */
function styleIn(text: string, list: Span): Style | undefined {
  const row = list.elements?.findLast((it) => it.members?.size);
  return row && styleOf(text, row);
}

/** Adds a member to an object, laid out like those before it. */
export function addMember(text: string, object: Span, key: string, json: string, whenEmpty?: Style): string {
  if (!object.members?.size) {
    if (whenEmpty) return put(text, object.start, object.end, objectText([[key, json]], whenEmpty));
    return filled(text, object, JSON.stringify(key) + colon(text) + json);
  }
  const style = styleOf(text, object);
  const end = Math.max(...[...object.members.values()].map((it) => it.end));
  return put(text, end, end, style.comma + JSON.stringify(key) + style.colon + json);
}

function addItem(text: string, list: Span, item: string): string {
  const [before, last] = list.elements?.slice(-2) ?? [];
  if (!before) return filled(text, list, item);
  const end = (last ?? before).end;
  const comma = last ? text.slice(before.end, last.start) : `,${text.slice(list.start + 1, before.start) || gap(colon(text))}`;
  return put(text, end, end, comma + item);
}

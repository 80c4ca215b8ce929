/**
 * Edits rows in the text of a pack and leaves all other text unchanged.
 *
 * Every function returns a new text; text that is not JSON throws a `JsonSyntaxError`.
 */
import { parseSpans, type Span } from '../json-text';
import { colonStyle, insertFirst, commaGap, inlineStyle, objectText, replaceRange, readStyle, removePart, type ObjectStyle } from './layout';

/** A value of a row as written, with its position. */
export interface PackCell {
  start: number;
  end: number;
  text: string;
}

/** A row with its position. */
export interface PackRow {
  start: number;
  end: number;
  cells: Record<string, PackCell>;
}

/** A table with the columns of its rows, in order of appearance. */
export interface PackTable {
  name: string;
  columns: string[];
  rows: PackRow[];
}

/** Lists the tables of a pack. */
export function listTables(text: string): PackTable[] {
  const tables = parseSpans(text).members?.get('tables')?.members ?? new Map<string, Span>();
  return [...tables].map(([name, list]) => {
    const rows = (list.elements ?? []).map((it) => ({ start: it.start, end: it.end, cells: readCells(text, it) }));
    return { name, columns: [...new Set(rows.flatMap((it) => Object.keys(it.cells)))], rows };
  });
}

/** Sets a value of a row, given as JSON; undefined removes the column. */
export function setCell(text: string, table: string, row: number, column: string, json: string | undefined): string {
  if (json !== undefined) parseSpans(json);
  const list = tableList(text, table);
  const object = rowSpan(list, table, row);
  if (!object.members) throw new Error(`row ${row + 1} of '${table}' is not an object; write it as {…} first`);
  const old = object.members.get(column);
  if (json === undefined) {
    if (!old) return text;
    const members = [...object.members.values()].map((it) => ({ start: it.key?.start ?? it.start, end: it.end }));
    const rest = removePart(text, object, members, [...object.members.keys()].indexOf(column));
    // A duplicate name would leave its other value.
    return setCell(rest, table, row, column, undefined);
  }
  if (old) return replaceRange(text, old.start, old.end, json);
  return addMember(text, object, column, json, lastRowStyle(text, list) ?? inlineStyle(text));
}

/** Appends a row, given as JSON, to a table, which is created if missing. The row is formatted like the previous one. */
export function addRow(text: string, table: string, json: string): string {
  const row = parseSpans(json);
  if (!row.members) throw new Error(`a row of '${table}' must be a JSON object: write it as {…}`);
  if (!tablesSpan(text)?.members?.has(table)) return addRow(addTable(text, table), table, json);
  const list = tableList(text, table);
  const members = [...row.members].map(([key, it]): [string, string] => [key, json.slice(it.start, it.end)]);
  const style = lastRowStyle(text, list) ?? [...(tablesSpan(text)?.members?.values() ?? [])].map((it) => lastRowStyle(text, it)).find(Boolean);
  return addItem(text, list, objectText(members, style ?? inlineStyle(text)));
}

/** Removes a row from its table. */
export function removeRow(text: string, table: string, row: number): string {
  const list = tableList(text, table);
  rowSpan(list, table, row);
  return removePart(text, list, list.elements ?? [], row);
}

/** Adds an empty table, unless it exists. */
export function addTable(text: string, table: string): string {
  const root = parseSpans(text);
  const all = root.members?.get('tables');
  if (!all) {
    if (!root.members) throw new Error('a pack must be a JSON object: write it as {…}');
    return addTable(addMember(text, root, 'tables', '{}'), table);
  }
  if (!all.members) throw new Error("'tables' must be an object: write it as {…}");
  return all.members.has(table) ? text : addMember(text, all, table, '[]');
}

function readCells(text: string, row: Span): Record<string, PackCell> {
  const members = [...(row.members ?? [])];
  return Object.fromEntries(members.map(([key, { start, end }]) => [key, { start, end, text: text.slice(start, end) }]));
}

function tablesSpan(text: string): Span | undefined {
  return parseSpans(text).members?.get('tables');
}

function tableList(text: string, table: string): Span {
  const list = tablesSpan(text)?.members?.get(table);
  if (!list) throw new Error(`unknown table '${table}': add it first`);
  if (!list.elements) throw new Error(`'${table}' must be a list of rows: write it as […]`);
  return list;
}

function rowSpan(list: Span, table: string, row: number): Span {
  const found = list.elements?.[row];
  if (!found) throw new Error(`'${table}' has no row ${row + 1}`);
  return found;
}

/** Returns the style of the last row that has values. */
function lastRowStyle(text: string, list: Span): ObjectStyle | undefined {
  const row = list.elements?.findLast((it) => it.members?.size);
  return row && readStyle(text, row);
}

/** Adds a member to an object, formatted like the previous ones. */
export function addMember(text: string, object: Span, key: string, json: string, whenEmpty?: ObjectStyle): string {
  if (!object.members?.size) {
    if (whenEmpty) return replaceRange(text, object.start, object.end, objectText([[key, json]], whenEmpty));
    return insertFirst(text, object, JSON.stringify(key) + colonStyle(text) + json);
  }
  const style = readStyle(text, object);
  const end = Math.max(...[...object.members.values()].map((it) => it.end));
  return replaceRange(text, end, end, style.comma + JSON.stringify(key) + style.colon + json);
}

/** Appends an item to a list, formatted like the previous ones. */
export function addItem(text: string, list: Span, item: string): string {
  const [before, last] = list.elements?.slice(-2) ?? [];
  if (!before) return insertFirst(text, list, item);
  const end = (last ?? before).end;
  const comma = last ? text.slice(before.end, last.start) : `,${text.slice(list.start + 1, before.start) || commaGap(colonStyle(text))}`;
  return replaceRange(text, end, end, comma + item);
}

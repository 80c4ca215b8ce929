/** What can be written at a place of a pack: tables, columns, and values that are written elsewhere in the same column. */
import type { Table } from '../pack/rows';

/** The tables with their columns, and the values seen in each. */
export type Vocabulary = Map<string, Map<string, Set<string>>>;

/** What is offered, and the stretch of the text that it takes the place of. */
export interface Offer {
  from: number;
  to: number;
  options: { label: string; apply: string; detail?: string }[];
}

/** A value that one chooses from a list rather than writes: a code or a name. */
const CHOSEN = /^\w[\w.-]{0,39}$/;
/** What other packs call their own things is of no use in this one. */
const OWN = /(_code|_state|_key|_id|^task|^id|^name|^title)$/;

/** Gathers tables, columns and values: all of the pack's own, and of other packs the columns and whatever is chosen from a fixed set. */
export function vocabulary(own: Table[], others: Table[][] = []): Vocabulary {
  const out: Vocabulary = new Map();
  own.forEach((table) => gather(out, table, () => true));
  others.flat().forEach((table) => gather(out, table, (column, value) => !OWN.test(column) && /^[A-Z][A-Z0-9_]*$/.test(value)));
  shareCodes(out, own);
  return out;
}

/** Offers what fits at an offset of the text, which need not be whole JSON yet. */
export function complete(text: string, offset: number, known: Vocabulary): Offer | undefined {
  const place = placeAt(text, offset);
  if (!place) return undefined;
  const { from, to, colonFollows } = place;
  const offer = (labels: Iterable<string>, detail: string, name: boolean): Offer => ({
    from,
    to,
    options: [...labels].map((label) => ({ label: JSON.stringify(label), apply: JSON.stringify(label) + (name && !colonFollows ? ': ' : ''), detail })),
  });
  const [top, table, row, column, ...deeper] = place.path;
  if (top !== 'tables' || typeof table !== 'string' || deeper.length > 0) {
    const atTables = top === 'tables' && place.path.length === 1 && place.role === 'name';
    return atTables ? offer(without(known.keys(), place.names), 'table', true) : undefined;
  }
  if (typeof row !== 'number') return undefined;
  const columns = known.get(table);
  if (!columns) return undefined;
  if (place.role === 'name') return column === undefined ? offer(without(columns.keys(), place.names), 'column', true) : undefined;
  return typeof column === 'string' ? offer(columns.get(column) ?? [], column, false) : undefined;
}

/** A place in a text that may be unfinished. */
interface At {
  path: (string | number)[];
  role: 'name' | 'value';
  from: number;
  to: number;
  /** The names that stand in the same object before it. */
  names: string[];
  colonFollows: boolean;
}

interface Frame {
  list: boolean;
  key: string | undefined;
  index: number;
  names: string[];
  afterColon: boolean;
}

function placeAt(text: string, offset: number): At | undefined {
  const frames: Frame[] = [];
  let from = offset;
  let to = offset;
  for (let at = 0; at < offset; ) {
    const character = text[at];
    const frame = frames.at(-1);
    if (character === '"') {
      const { end, closed } = stringEnd(text, at);
      if (end > offset || (end === offset && !closed)) {
        from = at;
        // What follows an open string on its line was not meant to be in it.
        to = closed ? end : offset;
        break;
      }
      if (frame && !frame.list && !frame.afterColon) {
        frame.key = unquoted(text.slice(at, end));
        frame.names.push(frame.key);
      }
      at = end;
      continue;
    }
    if (character === '{' || character === '[') frames.push({ list: character === '[', key: undefined, index: 0, names: [], afterColon: false });
    else if (character === '}' || character === ']') frames.pop();
    else if (character === ':' && frame) frame.afterColon = true;
    else if (character === ',' && frame) Object.assign(frame, { index: frame.index + 1, key: undefined, afterColon: false });
    at++;
  }
  const here = frames.at(-1);
  if (!here || here.list) return undefined;
  const role = here.afterColon ? 'value' : 'name';
  const outer = frames.slice(0, -1).map((it) => (it.list ? it.index : (it.key ?? '')));
  const path = role === 'value' ? [...outer, here.key ?? ''] : outer;
  return { path, role, from, to, names: here.names, colonFollows: /^\s*:/.test(text.slice(to)) };
}

/** Where the string that begins here ends; one without a closing quote ends with its line. */
function stringEnd(text: string, start: number): { end: number; closed: boolean } {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return { end: at + 1, closed: true };
    else if (text[at] === '\n') return { end: at, closed: false };
  }
  return { end: text.length, closed: false };
}

function unquoted(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json.slice(1, -1);
  }
}

function without(all: Iterable<string>, taken: string[]): string[] {
  return [...all].filter((it) => !taken.includes(it));
}

function gather(out: Vocabulary, table: Table, takes: (column: string, value: string) => boolean): void {
  const columns = out.get(table.name) ?? new Map<string, Set<string>>();
  out.set(table.name, columns);
  for (const column of table.columns) {
    const values = columns.get(column) ?? new Set<string>();
    columns.set(column, values);
    for (const row of table.rows) {
      const json = row.cells[column]?.text;
      if (!json?.startsWith('"')) continue;
      const value = unquoted(json);
      if (CHOSEN.test(value) && takes(column, value)) values.add(value);
    }
  }
}

/** An intent or a state that any table names can be named in every table. */
function shareCodes(out: Vocabulary, own: Table[]): void {
  const names = new Set(own.map((it) => it.name));
  const kinds: [RegExp, string[]][] = [
    [/^intent_code$/, ['intent_code']],
    [/^(state_code|from_state|to_state)$/, ['state_code', 'from_state', 'to_state']],
    [/^tool_code$/, ['tool_code']],
  ];
  for (const [kind, columns] of kinds) {
    const all = [...out].filter(([table]) => names.has(table)).flatMap(([, it]) => columns.flatMap((column) => [...(it.get(column) ?? [])]));
    for (const table of out.values()) {
      for (const [column, values] of table) {
        if (kind.test(column)) all.forEach((it) => values.add(it));
      }
    }
  }
}

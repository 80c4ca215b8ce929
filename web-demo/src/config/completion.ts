/** Completions for the text of a pack: tables, columns, and values used elsewhere in the same column. */
import type { PackTable } from '../pack/rows';
import { CLASSIFIER_TYPES } from './pattern';

/** Tables with their columns and the values seen in each column. */
export type Vocabulary = Map<string, Map<string, Set<string>>>;

/** Completions and the range of the text that they replace. */
export interface CompletionList {
  from: number;
  to: number;
  options: { label: string; apply: string; detail?: string }[];
}

/** A value worth completing: a code or a name. */
const CODE_PATTERN = /^\w[\w.-]{0,39}$/;
/** Columns whose values mean something only within their own pack. */
const PACK_SPECIFIC = /(_code|_state|_key|_id|^task|^id|^name|^title)$/;

/** Collects tables, columns and values: everything of the pack itself, and the columns and enum-like values of other packs. */
export function buildVocabulary(own: PackTable[], others: PackTable[][] = []): Vocabulary {
  const out: Vocabulary = new Map();
  own.forEach((table) => collectValues(out, table, () => true));
  others.flat().forEach((table) => collectValues(out, table, (column, value) => !PACK_SPECIFIC.test(column) && /^[A-Z][A-Z0-9_]*$/.test(value)));
  shareCodes(out, own);
  CLASSIFIER_TYPES.forEach((it) => out.get('ce_intent_classifier')?.get('rule_type')?.add(it));
  return out;
}

/** Completes the text at an offset; the text may be incomplete JSON. */
export function complete(text: string, offset: number, known: Vocabulary): CompletionList | undefined {
  const place = findContext(text, offset);
  if (!place) return undefined;
  const { from, to, colonFollows } = place;
  const offer = (labels: Iterable<string>, detail: string, name: boolean): CompletionList => ({
    from,
    to,
    options: [...labels].map((label) => ({ label: JSON.stringify(label), apply: JSON.stringify(label) + (name && !colonFollows ? ': ' : ''), detail })),
  });
  const [top, table, row, column, ...deeper] = place.path;
  if (top !== 'tables' || typeof table !== 'string' || deeper.length > 0) {
    const atTables = top === 'tables' && place.path.length === 1 && place.role === 'name';
    return atTables ? offer(exclude(known.keys(), place.names), 'table', true) : undefined;
  }
  if (typeof row !== 'number') return undefined;
  const columns = known.get(table);
  if (!columns) return undefined;
  if (place.role === 'name') return column === undefined ? offer(exclude(columns.keys(), place.names), 'column', true) : undefined;
  return typeof column === 'string' ? offer(columns.get(column) ?? [], column, false) : undefined;
}

/** The context of an offset in possibly incomplete JSON. */
interface CursorContext {
  path: (string | number)[];
  role: 'name' | 'value';
  from: number;
  to: number;
  /** Member names already used in the same object. */
  names: string[];
  colonFollows: boolean;
}

interface JsonFrame {
  list: boolean;
  key: string | undefined;
  index: number;
  names: string[];
  afterColon: boolean;
}

function findContext(text: string, offset: number): CursorContext | undefined {
  const frames: JsonFrame[] = [];
  let from = offset;
  let to = offset;
  for (let at = 0; at < offset; ) {
    const character = text[at];
    const frame = frames.at(-1);
    if (character === '"') {
      const { end, closed } = findStringEnd(text, at);
      if (end > offset || (end === offset && !closed)) {
        from = at;
        // The rest of the line after an unterminated string is not part of it.
        to = closed ? end : offset;
        break;
      }
      if (frame && !frame.list && !frame.afterColon) {
        frame.key = unquote(text.slice(at, end));
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

/** Finds the end of the string that starts here; an unterminated one ends with its line. */
function findStringEnd(text: string, start: number): { end: number; closed: boolean } {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return { end: at + 1, closed: true };
    else if (text[at] === '\n') return { end: at, closed: false };
  }
  return { end: text.length, closed: false };
}

function unquote(json: string): string {
  try {
    return JSON.parse(json) as string;
  } catch {
    return json.slice(1, -1);
  }
}

function exclude(all: Iterable<string>, taken: string[]): string[] {
  return [...all].filter((it) => !taken.includes(it));
}

function collectValues(out: Vocabulary, table: PackTable, accepts: (column: string, value: string) => boolean): void {
  const columns = out.get(table.name) ?? new Map<string, Set<string>>();
  out.set(table.name, columns);
  for (const column of table.columns) {
    const values = columns.get(column) ?? new Set<string>();
    columns.set(column, values);
    for (const row of table.rows) {
      const json = row.cells[column]?.text;
      if (!json?.startsWith('"')) continue;
      const value = unquote(json);
      if (CODE_PATTERN.test(value) && accepts(column, value)) values.add(value);
    }
  }
}

/** Intents, states and tools named in one table are offered in every table. */
function shareCodes(out: Vocabulary, own: PackTable[]): void {
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

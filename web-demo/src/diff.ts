import type { Json, JsonObject } from './types';

/** How a leaf differs. */
export type ChangeKind = 'same' | 'changed' | 'added' | 'removed';

/** One line of a side-by-side diff of two JSON values; a side without the line is null. */
export interface DiffRow {
  depth: number;
  path: string;
  key: string;
  change: ChangeKind;
  /** Whether the line is an object or list whose members follow. */
  opens: boolean;
  before: string | null;
  after: string | null;
}

/** Compares two JSON values, with one line per leaf and per branch. */
export function diffRows(before: Json | undefined, after: Json | undefined): DiffRow[] {
  const out: DiffRow[] = [];
  for (const key of unionKeys(before, after)) {
    addRows(out, { depth: 0, path: key, key }, childAt(before, key), childAt(after, key));
  }
  return out;
}

/** Counts the leaves that differ. */
export function countChanges(all: DiffRow[]): number {
  return all.filter((it) => !it.opens && it.change !== 'same').length;
}

/** Keeps changed leaves and the branches that contain them. */
export function filterChanges(all: DiffRow[]): DiffRow[] {
  return all.filter((it) => it.change !== 'same');
}

/** How much of a long text is shown, and how much of that precedes the first difference. */
const CLIP_CHARS = 120;
const LEADING_CHARS = 24;

/** Clips a long text around its first difference from the other one. */
export function clipText(text: string, other: string | null): string {
  if (text.length <= CLIP_CHARS * 2) return text;
  let same = 0;
  while (other !== null && same < text.length && text[same] === other[same]) same++;
  const from = other === null || same < CLIP_CHARS || same === text.length ? 0 : same - LEADING_CHARS;
  const cut = text.slice(from, from + CLIP_CHARS);
  return `${from > 0 ? '…' : ''}${cut}${from + CLIP_CHARS < text.length ? '…' : ''}`;
}

type DiffPlace = Pick<DiffRow, 'depth' | 'path' | 'key'>;

/** Adds the lines of a value and its members; returns whether anything differs. */
function addRows(out: DiffRow[], place: DiffPlace, before: Json | undefined, after: Json | undefined): boolean {
  const opens = (isBranch(before) || isBranch(after)) && isComposite(before) && isComposite(after);
  const row: DiffRow = { ...place, opens, before: formatSide(before, opens), after: formatSide(after, opens), change: 'same' };
  out.push(row);
  let differs = before === undefined || after === undefined || row.before !== row.after;
  if (opens) {
    for (const key of unionKeys(before, after)) {
      const path = Array.isArray(before ?? after) ? `${place.path}[${key}]` : `${place.path}.${key}`;
      const inside = addRows(out, { depth: place.depth + 1, path, key }, childAt(before, key), childAt(after, key));
      differs ||= inside;
    }
  }
  if (differs) row.change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  return differs;
}

function formatSide(value: Json | undefined, opens: boolean): string | null {
  if (value === undefined) return null;
  if (opens) return Array.isArray(value) ? '[ ]' : '{ }';
  return JSON.stringify(value);
}

/** Whether a value has members; empty objects and lists are leaves. */
function isBranch(value: Json | undefined): value is Json[] | JsonObject {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function isComposite(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

function unionKeys(before: Json | undefined, after: Json | undefined): string[] {
  return [...new Set([before, after].flatMap((it) => (isBranch(it) ? Object.keys(it) : [])))];
}

function childAt(value: Json | undefined, key: string): Json | undefined {
  if (!isBranch(value)) return undefined;
  return Array.isArray(value) ? value[Number(key)] : Object.hasOwn(value, key) ? value[key] : undefined;
}

import type { Json, JsonObject } from './types';

/** What became of one leaf. */
export type Change = 'same' | 'changed' | 'added' | 'removed';

/** One line of two JSON values laid side by side; a side that lacks the line is null. */
export interface Row {
  depth: number;
  path: string;
  key: string;
  change: Change;
  /** Whether the line opens an object or a list whose parts follow. */
  opens: boolean;
  before: string | null;
  after: string | null;
}

/** Lays two JSON values side by side, one line for each leaf and each branch. */
export function rows(before: Json | undefined, after: Json | undefined): Row[] {
  const out: Row[] = [];
  for (const key of keysOf(before, after)) {
    walk(out, { depth: 0, path: key, key }, part(before, key), part(after, key));
  }
  return out;
}

/** Counts the leaves that differ. */
export function changes(all: Row[]): number {
  return all.filter((it) => !it.opens && it.change !== 'same').length;
}

/** Keeps the leaves that differ and the branches that lead to them. */
export function onlyChanges(all: Row[]): Row[] {
  return all.filter((it) => it.change !== 'same');
}

/** How much of a long text is shown, and how much of it stands before the first difference. */
const CLIP = 120;
const AHEAD = 24;

/** Cuts a long text down to the place where it begins to differ from the other one. */
export function clipped(text: string, other: string | null): string {
  if (text.length <= CLIP * 2) return text;
  let same = 0;
  while (other !== null && same < text.length && text[same] === other[same]) same++;
  const from = other === null || same < CLIP || same === text.length ? 0 : same - AHEAD;
  const cut = text.slice(from, from + CLIP);
  return `${from > 0 ? '…' : ''}${cut}${from + CLIP < text.length ? '…' : ''}`;
}

type Place = Pick<Row, 'depth' | 'path' | 'key'>;

/** Adds the line of one place and those inside it; tells whether anything there differs. */
function walk(out: Row[], place: Place, before: Json | undefined, after: Json | undefined): boolean {
  const opens = (isBranch(before) || isBranch(after)) && isComposite(before) && isComposite(after);
  const row: Row = { ...place, opens, before: side(before, opens), after: side(after, opens), change: 'same' };
  out.push(row);
  let differs = before === undefined || after === undefined || row.before !== row.after;
  if (opens) {
    for (const key of keysOf(before, after)) {
      const path = Array.isArray(before ?? after) ? `${place.path}[${key}]` : `${place.path}.${key}`;
      const inside = walk(out, { depth: place.depth + 1, path, key }, part(before, key), part(after, key));
      differs ||= inside;
    }
  }
  if (differs) row.change = before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';
  return differs;
}

function side(value: Json | undefined, opens: boolean): string | null {
  if (value === undefined) return null;
  if (opens) return Array.isArray(value) ? '[ ]' : '{ }';
  return JSON.stringify(value);
}

/** Tells whether a value has parts: empty objects and lists are leaves. */
function isBranch(value: Json | undefined): value is Json[] | JsonObject {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function isComposite(value: Json | undefined): boolean {
  return value === undefined || (typeof value === 'object' && value !== null);
}

function keysOf(before: Json | undefined, after: Json | undefined): string[] {
  return [...new Set([before, after].flatMap((it) => (isBranch(it) ? Object.keys(it) : [])))];
}

function part(value: Json | undefined, key: string): Json | undefined {
  if (!isBranch(value)) return undefined;
  return Array.isArray(value) ? value[Number(key)] : Object.hasOwn(value, key) ? value[key] : undefined;
}

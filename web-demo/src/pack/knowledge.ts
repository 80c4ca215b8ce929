/** Reads and writes the sources of a pack's knowledge base, and leaves all other text unchanged. */
import { parseSpans, type Span } from '../json-text';
import { inlineStyle, objectText, readStyle, removePart, replaceRange } from './layout';
import { addItem, addMember } from './rows';

/** A source of a knowledge base. */
export interface Source {
  id: string;
  title: string;
  text: string;
  url?: string;
  format?: string;
  locale?: string;
}

/** The members of a source in the order in which new ones are written. */
const MEMBERS = ['id', 'title', 'url', 'locale', 'format', 'text'] as const;

/** Lists the sources of a pack; none in a text that is not JSON. */
export function listSources(text: string): Source[] {
  try {
    const { knowledge } = JSON.parse(text) as { knowledge?: unknown };
    return Array.isArray(knowledge) ? knowledge.map(toSource) : [];
  } catch {
    return [];
  }
}

/** Writes a source in place of another one, or appends it. */
export function writeSource(text: string, index: number | undefined, source: Source): string {
  const root = parseSpans(text);
  const members = MEMBERS.flatMap((key): [string, string][] => (source[key] ? [[key, JSON.stringify(source[key])]] : []));
  const list = root.members?.get('knowledge');
  if (!list) return addMember(text, root, 'knowledge', `[${objectText(members, inlineStyle(text))}]`);
  if (!list.elements) throw new Error("'knowledge' must be a list of sources: write it as […]");
  const old = index === undefined ? undefined : list.elements[index];
  const like = old ?? list.elements.at(-1);
  const style = like?.members?.size ? readStyle(text, like) : inlineStyle(text);
  if (!old) return addItem(text, list, objectText(members, style));
  return replaceRange(text, old.start, old.end, objectText([...otherMembers(text, old), ...members], style));
}

/** Removes a source. */
export function removeSource(text: string, index: number): string {
  const list = parseSpans(text).members?.get('knowledge');
  return list ? removePart(text, list, list.elements ?? [], index) : text;
}

/** Proposes the id of a source from its title, different from all others. */
export function sourceId(title: string, sources: Source[]): string {
  const plain = title.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '').replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'source';
  for (let at = 1; ; at++) {
    const id = at === 1 ? plain : `${plain}_${at}`;
    if (!sources.some((it) => it.id === id)) return id;
  }
}

function otherMembers(text: string, source: Span): [string, string][] {
  const known: readonly string[] = MEMBERS;
  return [...(source.members ?? [])].flatMap(([key, { start, end }]) => (known.includes(key) ? [] : [[key, text.slice(start, end)]]));
}

function toSource(value: unknown): Source {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const text = (key: string) => (typeof members[key] === 'string' ? members[key] : '');
  const more = Object.fromEntries((['url', 'locale', 'format'] as const).flatMap((key) => (text(key) ? [[key, text(key)]] : [])));
  return { id: text('id'), title: text('title'), text: text('text'), ...more };
}

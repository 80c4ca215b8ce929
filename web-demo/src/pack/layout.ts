/** How people lay out JSON, read off what they wrote. */
import { spans, type Span } from '../json-text';

/** What stands between the parts of an object. */
export interface Style {
  lead: string;
  colon: string;
  comma: string;
  trail: string;
}

/** Reads the style off an object that has members. */
export function styleOf(text: string, object: Span): Style {
  const members = [...(object.members?.values() ?? [])].sort((a, b) => a.start - b.start);
  const [first, second] = members;
  const last = members.at(-1);
  if (!first?.key || !last) return inline(text);
  const lead = text.slice(object.start + 1, first.key.start);
  const colon = text.slice(first.key.end, first.start);
  const comma = second?.key ? text.slice(first.end, second.key.start) : `,${lead.includes('\n') ? lead : gap(colon)}`;
  return { lead, colon, comma, trail: text.slice(last.end, object.end - 1) };
}

/** The style of an object on one line where nothing else shows the author's. */
export function inline(text: string): Style {
  const between = colon(text);
  return { lead: '', colon: between, comma: `,${gap(between)}`, trail: '' };
}

/** What stands after names in this text. */
export function colon(text: string): string {
  const first = [...(spans(text).members?.values() ?? [])][0];
  return first?.key ? text.slice(first.key.end, first.start) : ': ';
}

/** The blank that follows a comma where a name is followed by this. */
export function gap(colon: string): string {
  return colon.slice(colon.indexOf(':') + 1);
}

/** Writes an object out of names and JSON texts. */
export function objectText(members: [key: string, json: string][], style: Style): string {
  if (members.length === 0) return '{}';
  const parts = members.map(([key, json]) => JSON.stringify(key) + style.colon + json);
  return `{${style.lead}${parts.join(style.comma)}${style.trail}}`;
}

/** Puts the first item into an empty list or object: on a line of its own, deeper by a level, where its owner begins a line. */
export function filled(text: string, owner: Span, item: string): string {
  const begin = (owner.key ?? owner).start;
  const indent = text.slice(text.lastIndexOf('\n', begin - 1) + 1, begin);
  // `{}` alone is the beginning of a text that has no lines yet.
  const spread = /\n|^\{\}$/.test(text.trim());
  const line = /\S/.test(indent) || !spread ? '' : (text.includes('\r\n') ? '\r\n' : '\n') + indent;
  const step = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ';
  return put(text, owner.start + 1, owner.end - 1, line ? line + step + item + line : item);
}

/** Takes one of an owner's parts out with the comma that it no longer needs. */
export function without(text: string, owner: Span, parts: { start: number; end: number }[], index: number): string {
  const part = parts[index];
  if (!part) return text;
  const after = parts.filter((it) => it.start > part.start).sort((a, b) => a.start - b.start)[0];
  const before = parts.filter((it) => it.start < part.start).sort((a, b) => b.start - a.start)[0];
  if (after) return put(text, part.start, after.start, '');
  return before ? put(text, before.end, part.end, '') : put(text, owner.start + 1, owner.end - 1, '');
}

/** Exchanges a stretch of a text. */
export function put(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

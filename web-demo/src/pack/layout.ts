/** Detects and keeps the formatting of JSON text. */
import { parseSpans, type Span } from '../json-text';

/** The whitespace and separators of an object. */
export interface ObjectStyle {
  lead: string;
  colon: string;
  comma: string;
  trail: string;
}

/** Detects the style of an object with members. */
export function readStyle(text: string, object: Span): ObjectStyle {
  const members = [...(object.members?.values() ?? [])].sort((a, b) => a.start - b.start);
  const [first, second] = members;
  const last = members.at(-1);
  if (!first?.key || !last) return inlineStyle(text);
  const lead = text.slice(object.start + 1, first.key.start);
  const colon = text.slice(first.key.end, first.start);
  const comma = second?.key ? text.slice(first.end, second.key.start) : `,${lead.includes('\n') ? lead : commaGap(colon)}`;
  return { lead, colon, comma, trail: text.slice(last.end, object.end - 1) };
}

/** Returns the style of a one-line object, for texts without an example. */
export function inlineStyle(text: string): ObjectStyle {
  const between = colonStyle(text);
  return { lead: '', colon: between, comma: `,${commaGap(between)}`, trail: '' };
}

/** Returns the separator after names in this text. */
export function colonStyle(text: string): string {
  const first = [...(parseSpans(text).members?.values() ?? [])][0];
  return first?.key ? text.slice(first.key.end, first.start) : ': ';
}

/** Returns the whitespace after commas that matches a name separator. */
export function commaGap(colon: string): string {
  return colon.slice(colon.indexOf(':') + 1);
}

/** Formats an object from names and JSON texts. */
export function objectText(members: [key: string, json: string][], style: ObjectStyle): string {
  if (members.length === 0) return '{}';
  const parts = members.map(([key, json]) => JSON.stringify(key) + style.colon + json);
  return `{${style.lead}${parts.join(style.comma)}${style.trail}}`;
}

/** Inserts the first item into an empty list or object: on its own indented line if the owner starts a line. */
export function insertFirst(text: string, owner: Span, item: string): string {
  const begin = (owner.key ?? owner).start;
  const indent = text.slice(text.lastIndexOf('\n', begin - 1) + 1, begin);
  // `{}` alone is a text without lines yet.
  const spread = /\n|^\{\}$/.test(text.trim());
  const line = /\S/.test(indent) || !spread ? '' : (text.includes('\r\n') ? '\r\n' : '\n') + indent;
  const step = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  ';
  return replaceRange(text, owner.start + 1, owner.end - 1, line ? line + step + item + line : item);
}

/** Removes a part of an object or list, with its comma. */
export function removePart(text: string, owner: Span, parts: { start: number; end: number }[], index: number): string {
  const part = parts[index];
  if (!part) return text;
  const after = parts.filter((it) => it.start > part.start).sort((a, b) => a.start - b.start)[0];
  const before = parts.filter((it) => it.start < part.start).sort((a, b) => b.start - a.start)[0];
  if (after) return replaceRange(text, part.start, after.start, '');
  return before ? replaceRange(text, before.end, part.end, '') : replaceRange(text, owner.start + 1, owner.end - 1, '');
}

/** Replaces a range of a text. */
export function replaceRange(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

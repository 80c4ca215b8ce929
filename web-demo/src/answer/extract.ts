/** Extracts the values of a schema from a message, by form and by surrounding words. */
import type { Json, JsonObject } from '../types';
import { choicesOf, propertiesOf, typesOf, type Property } from './schema';
import { contentWords, toWords, stem } from './words';

/** A part of the message that may be a value. */
interface Mention {
  text: string;
  start: number;
  end: number;
  number: number | undefined;
}

const MULTIPLIERS: Record<string, number> = { k: 1e3, thousand: 1e3, m: 1e6, mn: 1e6, million: 1e6, hundred: 100 };
const SYMBOLS: Record<string, string[]> = { '€': ['euro'], $: ['dollar'], '£': ['pound'] };
const MONEY = ['amount', 'price', 'sum', 'cost', 'budget', 'salary', 'income', 'loan'].map(stem);
const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const MENTION = /(?<![-\p{L}\d])[-\p{L}]*\d[\p{L}\d]*(?:[,' ]\d{3}(?![\p{L}\d]))*(?:[.-][\p{L}\d]+)*|\b\p{Lu}{2,}(?:-[\p{Lu}\d]+)+/gu;
const WORD_SPAN = 5;
const MAX_LENGTH = 2000;

/** Extracts the values that it finds. `known` are values of earlier turns; `asked` tells whether the message answers a question. */
export function extract(schema: JsonObject, userText: string, known: JsonObject, asked: boolean): JsonObject {
  // The patterns are not made for long texts.
  const message = userText.slice(0, MAX_LENGTH);
  const found: JsonObject = {};
  const all = propertiesOf(schema);
  const open: Property[] = [];
  let rest = message;
  for (const it of all) {
    const match = matchByForm(it, message);
    if (match === undefined) {
      open.push(it);
      continue;
    }
    found[it.name] = match.value;
    // The digits of a date or phone number are not an amount.
    if (match.text) rest = rest.replace(match.text, ' '.repeat(match.text.length));
  }
  assignMentions(open.filter(isNumeric), findMentions(rest), rest, known, found, asked);
  const missing = all.filter((it) => it.required && found[it.name] === undefined && isMissing(known[it.name]));
  const [next] = missing;
  const free = next && typesOf(next.schema)[0] === 'string' && choicesOf(next.schema).length === 0 && !isNumeric(next);
  // The message answers the one open question.
  if (free && asked && Object.keys(found).length === 0 && message.length <= 120 && !message.includes('?')) found[next.name] = message.trim();
  return found;
}

/** Matches a value by its form alone. */
function matchByForm({ name, schema }: Property, message: string): { value: Json; text: string } | undefined {
  const words = toWords(name);
  const type = typesOf(schema)[0];
  const format = String(schema['format'] ?? '');
  const match = (pattern: RegExp) => pattern.exec(message)?.[0];
  const text = (value: string | undefined) => (value === undefined ? undefined : { value, text: value });
  if (choicesOf(schema).length > 0) {
    const chosen = choicesOf(schema).find((it) => isNamedIn(it, message));
    return chosen === undefined ? undefined : { value: chosen, text: '' };
  }
  if (type === 'object') {
    const inner = extract(schema, message, {}, false);
    return Object.keys(inner).length > 0 ? { value: inner, text: '' } : undefined;
  }
  if (type === 'array') {
    const chosen = choicesOf((schema['items'] ?? {}) as JsonObject).filter((it) => isNamedIn(it, message));
    return chosen.length > 0 ? { value: chosen, text: '' } : undefined;
  }
  if (type === 'boolean') return readBoolean(words, message);
  if (type !== 'string' && type !== undefined) return undefined;
  if (format === 'email' || /\be ?mail\b/.test(words)) return text(match(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/));
  if (/\b(phone|mobile|telephone|cell)\b/.test(words)) return text(match(/\+?\d[\d ()/-]{5,}\d/));
  if (format.startsWith('date') || /\b(date|day|birthday|until|deadline)\b/.test(words)) return readDate(message);
  if (/\bname\b/.test(words)) {
    const [, nameText] = /\b(?:name is|i am|i'm|call me|this is)\s+(\p{Lu}[\p{L}'-]*(?:\s\p{Lu}[\p{L}'-]*)*)/iu.exec(message) ?? [];
    return text(nameText?.match(/^(?:\p{Lu}[\p{L}'-]*\s?)+/u)?.[0].trim());
  }
  return undefined;
}

function isNamedIn(choice: Json, message: string): boolean {
  const text = (it: string) => ` ${it.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim()} `;
  return text(message).includes(text(toWords(String(choice))));
}

/** Reads a boolean if the message contains the words of its name. */
function readBoolean(name: string, message: string): { value: boolean; text: string } | undefined {
  const nameWords = contentWords(name).filter((it) => it !== 'is' && it !== 'has');
  const messageWords = contentWords(message);
  if (nameWords.length === 0 || !nameWords.every((it) => messageWords.includes(it))) return undefined;
  return { value: !/\b(no|not|don't|without|never|none)\b/i.test(message), text: '' };
}

function readDate(message: string): { value: string; text: string } | undefined {
  const date = (text: string, year: number, month: number, of: number) => {
    const at = new Date(Date.UTC(year, month - 1, of));
    const real = at.getUTCMonth() === month - 1 && at.getUTCDate() === of;
    return real ? { value: at.toISOString().slice(0, 10), text } : undefined;
  };
  const iso = /\b(\d{4})-(\d\d)-(\d\d)\b/.exec(message);
  if (iso) return date(iso[0], Number(iso[1]), Number(iso[2]), Number(iso[3]));
  const points = /\b(\d{1,2})\.(\d{1,2})\.(\d{4})\b/.exec(message);
  if (points) return date(points[0], Number(points[3]), Number(points[2]), Number(points[1]));
  const named = /\b(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? )?(\p{L}{3,9})(?: (\d{1,2})(?:st|nd|rd|th)?,?)? (\d{4})\b/iu.exec(message);
  const month = named ? MONTHS.findIndex((it) => it.startsWith((named[2] ?? '').toLowerCase())) + 1 : 0;
  return named && month > 0 ? date(named[0], Number(named[4]), month, Number(named[1] ?? named[3])) : undefined;
}

/** Whether a value is a number or an identifier that contains digits. */
function isNumeric({ name, schema }: Property): boolean {
  const type = typesOf(schema)[0];
  if (type === 'integer' || type === 'number') return true;
  const id = /\b(id|number|no|code|reference|ref|account|iban|sku)$/.test(toWords(name));
  return (type === 'string' || type === undefined) && choicesOf(schema).length === 0 && (id || schema['pattern'] !== undefined);
}

function findMentions(message: string): Mention[] {
  return [...message.matchAll(MENTION)].map((it) => {
    const end = it.index + it[0].length;
    const digits = /^-?[\d,' ]+(?:\.\d+)?(\p{L}*)$/u.exec(it[0]);
    const unit = digits?.[1]?.toLowerCase() || (/^ ?(\p{L}+)/u.exec(message.slice(end))?.[1] ?? '').toLowerCase();
    const times = MULTIPLIERS[unit] ?? (digits?.[1] ? undefined : 1);
    const number = digits && times ? Number(it[0].replace(/[,' ]|\p{L}+$/gu, '')) * times : undefined;
    return { text: it[0], start: it.index, end, number };
  });
}

/** Assigns each mention to the property with the nearest words, and the rest to missing properties in order. */
function assignMentions(open: Property[], found: Mention[], message: string, known: JsonObject, into: JsonObject, asked: boolean): void {
  const pairs = open.flatMap((property) => found.map((mention) => ({ property, mention, score: proximity(property, mention, found, message) })));
  const used = new Set<Mention>();
  const take = (property: Property, mention: Mention) => {
    const value = valueOf(property, mention);
    if (value === undefined || used.has(mention) || into[property.name] !== undefined) return;
    into[property.name] = value;
    used.add(mention);
  };
  for (const it of pairs.filter((pair) => pair.score > 0).sort((a, b) => b.score - a.score)) take(it.property, it.mention);
  for (const property of open.filter((it) => isMissing(known[it.name]))) {
    const text = typesOf(property.schema)[0] !== 'integer' && typesOf(property.schema)[0] !== 'number';
    for (const mention of found) if (asked || !text || mention.number === undefined) take(property, mention);
  }
}

function valueOf({ schema }: Property, { text, number }: Mention): Json | undefined {
  const type = typesOf(schema)[0];
  if (type === 'integer') return number !== undefined && Number.isSafeInteger(number) ? number : undefined;
  if (type === 'number') return number;
  return text.length >= 2 ? text : undefined;
}

function proximity({ name, schema }: Property, { start, end }: Mention, all: Mention[], message: string): number {
  const own = contentWords(`${toWords(name)} ${String(schema['description'] ?? '')} ${String(schema['title'] ?? '')}`);
  const money = own.some((it) => MONEY.includes(it));
  const isWanted = (word: string) => own.includes(word) || (money && ['euro', 'dollar', 'pound', 'usd', 'eur'].map(stem).includes(word));
  const from = Math.max(0, ...all.filter((it) => it.end <= start).map((it) => it.end));
  const to = Math.min(message.length, ...all.filter((it) => it.start >= end).map((it) => it.start));
  const words = (text: string) => (text.match(/[\p{L}€$£]+|[€$£]/gu) ?? []).flatMap((it) => SYMBOLS[it] ?? [it.toLowerCase()]).map(stem);
  const before = words(message.slice(from, start)).reverse().slice(0, WORD_SPAN);
  const after = words(message.slice(end, to)).slice(0, 2);
  const score = (list: string[], weight: number) => list.reduce((sum, it, at) => sum + (isWanted(it) ? weight / (at + 1) : 0), 0);
  return score(before, 2) + score(after, 3);
}

function isMissing(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '';
}

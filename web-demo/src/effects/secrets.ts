import { base64 } from '../base64';
import { unescaped, viewOf } from './unescaped';

/** A text that must not be seen, by its name. */
export interface Secret {
  name: string;
  value: string;
}

/** How often a text may be escaped anew, as JSON within JSON is. */
const NESTED = 4;

/** Characters below which a part of an encoded value may be anything. */
const DISTINCT = 8;

/** Strikes secrets out of what comes back from a service. */
export class Secrets {
  private readonly marks = new Map<string, string>();
  /** The longest first, so that none is taken for a shorter one that it begins with. */
  private readonly spellings: string[];
  private readonly finder: RegExp | undefined;

  constructor(secrets: Secret[]) {
    for (const { name, value } of secrets) {
      for (const spelling of value ? spellings(value) : []) this.marks.set(spelling, `[secret:${name}]`);
    }
    this.spellings = [...this.marks.keys()].sort((one, other) => other.length - one.length);
    const patterns = this.spellings.map((it) => it.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.finder = patterns.length > 0 ? new RegExp(patterns.join('|'), 'g') : undefined;
  }

  /** Replaces every secret in a text by its name. */
  scrub(text: string): string {
    if (!this.finder) return text;
    let scrubbed = text.replace(this.finder, (it) => this.marks.get(it) ?? '');
    if (!scrubbed.includes('\\')) return scrubbed;
    // Writers of JSON escape what they like: what is read later must not be a secret either, nor JSON within JSON.
    let view = viewOf(scrubbed);
    for (let level = 0; level < NESTED; level++) {
      const next = unescaped(view);
      if (!next) break;
      view = next;
      const found = [...view.text.matchAll(this.finder)].reverse();
      for (const it of found) {
        const [from, to] = [view.origins[it.index] ?? 0, view.origins[it.index + it[0].length] ?? 0];
        scrubbed = scrubbed.slice(0, from) + (this.marks.get(it[0]) ?? '') + scrubbed.slice(to);
      }
      if (found.length > 0) view = viewOf(scrubbed);
    }
    return scrubbed;
  }

  /** Says how much of a text that goes on can be scrubbed by itself: no secret reaches from there into what is still to come. */
  settled(text: string): number {
    if (!this.finder) return text.length;
    // Only what a secret may begin with is held back: readers are not to wait for a text that cannot be one.
    let end = Math.max(0, text.length - (this.spellings[0]?.length ?? 0));
    while (end < text.length && !this.begins(text.slice(end))) end++;
    // A secret that has come in whole stays in one piece.
    const whole = [...text.matchAll(this.finder)].find((it) => it.index < end && it.index + it[0].length > end);
    return whole?.index ?? end;
  }

  private begins(rest: string): boolean {
    return this.spellings.some((it) => it.length > rest.length && it.startsWith(rest));
  }
}

/** The ways in which a service may give a value back. */
function spellings(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const percent = encodeURIComponent(value.toWellFormed());
  const strict = percent.replace(/[!'()*]/g, escaped);
  const bytes = new TextEncoder().encode(value);
  const page = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const encoded = base64(bytes);
  // In the middle of something longer that is encoded, such as a whole header.
  const parts = [encoded.replace(/=+$/, ''), ...[0, 1, 2].flatMap((before) => within(bytes, before))];
  return [
    value,
    json,
    // What some writers escape so that their JSON can stand in a page.
    json.replaceAll('/', '\\/'),
    json.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e'),
    ...[percent, strict, strict.replace(/[-._~]/g, escaped)].flatMap((it) => [it, it.replace(/%../g, (code) => code.toLowerCase())]),
    // Forms write a space as a plus.
    strict.replaceAll('%20', '+'),
    page,
    ...['&#39;', '&#x27;', '&#039;'].map((quote) => page.replaceAll("'", quote)),
    encoded,
    ...parts.flatMap((it) => [it, it.replaceAll('+', '-').replaceAll('/', '_')]),
  ];
}

/** What of a value stays the same in Base64 wherever it stands, with so many bytes before it in its group of three. */
function within(value: Uint8Array, before: number): string[] {
  const bytes = new Uint8Array(before + value.length);
  bytes.set(value, before);
  const kept = base64(bytes).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return kept.length >= DISTINCT ? [kept] : [];
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

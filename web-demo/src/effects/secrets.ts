import { encodeBase64 } from '../base64';
import { unescapeJson, mapText } from './unescape';

/** A named secret. */
export interface Secret {
  name: string;
  value: string;
}

/** Maximum levels of nested escaping, such as JSON within JSON. */
const MAX_NESTING = 4;

/** Shorter Base64 fragments are too ambiguous to redact. */
const MIN_FRAGMENT_LENGTH = 8;

/** Redacts secrets in responses. */
export class SecretRedactor {
  private readonly placeholders = new Map<string, string>();
  /** Longest first, so that a prefix is not matched instead. */
  private readonly encodings: string[];
  private readonly pattern: RegExp | undefined;

  constructor(secrets: Secret[]) {
    for (const { name, value } of secrets) {
      for (const spelling of value ? encodings(value) : []) this.placeholders.set(spelling, `[secret:${name}]`);
    }
    this.encodings = [...this.placeholders.keys()].sort((one, other) => other.length - one.length);
    const patterns = this.encodings.map((it) => it.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.pattern = patterns.length > 0 ? new RegExp(patterns.join('|'), 'g') : undefined;
  }

  /** Replaces every secret in a text with `[secret:NAME]`. */
  redact(text: string): string {
    if (!this.pattern) return text;
    let redacted = text.replace(this.pattern, (it) => this.placeholders.get(it) ?? '');
    if (!redacted.includes('\\')) return redacted;
    // JSON can escape any character, also in nested JSON: secrets must not reappear when it is decoded.
    let view = mapText(redacted);
    for (let level = 0; level < MAX_NESTING; level++) {
      const next = unescapeJson(view);
      if (!next) break;
      view = next;
      const found = [...view.text.matchAll(this.pattern)].reverse();
      for (const it of found) {
        const [from, to] = [view.origins[it.index] ?? 0, view.origins[it.index + it[0].length] ?? 0];
        redacted = redacted.slice(0, from) + (this.placeholders.get(it[0]) ?? '') + redacted.slice(to);
      }
      if (found.length > 0) view = mapText(redacted);
    }
    return redacted;
  }

  /** Returns the length of the prefix that can be redacted on its own: no secret continues beyond it. */
  safeLength(text: string): number {
    if (!this.pattern) return text.length;
    // Only a possible start of a secret is held back.
    let end = Math.max(0, text.length - (this.encodings[0]?.length ?? 0));
    while (end < text.length && !this.mayBegin(text.slice(end))) end++;
    // A complete secret must not be split.
    const whole = [...text.matchAll(this.pattern)].find((it) => it.index < end && it.index + it[0].length > end);
    return whole?.index ?? end;
  }

  private mayBegin(rest: string): boolean {
    return this.encodings.some((it) => it.length > rest.length && it.startsWith(rest));
  }
}

/** Lists the encodings in which a service may return a value. */
function encodings(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const percent = encodeURIComponent(value.toWellFormed());
  const strict = percent.replace(/[!'()*]/g, percentEncode);
  const bytes = new TextEncoder().encode(value);
  const page = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const encoded = encodeBase64(bytes);
  // Within a longer encoded text, such as a whole header.
  const parts = [encoded.replace(/=+$/, ''), ...[0, 1, 2].flatMap((before) => base64Fragments(bytes, before))];
  return [
    value,
    json,
    // Escapes for JSON embedded in HTML.
    json.replaceAll('/', '\\/'),
    json.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e'),
    ...[percent, strict, strict.replace(/[-._~]/g, percentEncode)].flatMap((it) => [it, it.replace(/%../g, (code) => code.toLowerCase())]),
    // Forms encode a space as '+'.
    strict.replaceAll('%20', '+'),
    page,
    ...['&#39;', '&#x27;', '&#039;'].map((quote) => page.replaceAll("'", quote)),
    encoded,
    ...parts.flatMap((it) => [it, it.replaceAll('+', '-').replaceAll('/', '_')]),
  ];
}

/** Returns the Base64 characters that depend on the value alone, with `before` bytes preceding it in its group of three. */
function base64Fragments(value: Uint8Array, before: number): string[] {
  const bytes = new Uint8Array(before + value.length);
  bytes.set(value, before);
  const fragment = encodeBase64(bytes).slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return fragment.length >= MIN_FRAGMENT_LENGTH ? [fragment] : [];
}

function percentEncode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

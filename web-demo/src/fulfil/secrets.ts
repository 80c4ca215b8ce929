import { base64 } from '../base64';

/** A text that must not be seen, by its name. */
export interface Secret {
  name: string;
  value: string;
}

/** Strikes secrets out of what comes back from a service. */
export class Secrets {
  private readonly marks = new Map<string, string>();
  /** The longest first, so that none is taken for a shorter one that it begins with. */
  private readonly spellings: string[];
  private readonly finder: RegExp | undefined;

  constructor(secrets: Secret[]) {
    for (const { name, value } of secrets) {
      for (const spelling of value ? spellings(value) : []) this.marks.set(spelling, `[secret ${name}]`);
    }
    this.spellings = [...this.marks.keys()].sort((one, other) => other.length - one.length);
    const patterns = this.spellings.map((it) => it.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.finder = patterns.length > 0 ? new RegExp(patterns.join('|'), 'g') : undefined;
  }

  /** Replaces every secret in a text by its name. */
  scrub(text: string): string {
    return this.finder ? text.replace(this.finder, (it) => this.marks.get(it) ?? '') : text;
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
  const encoded = base64(new TextEncoder().encode(value));
  const bare = encoded.replace(/=+$/, '');
  return [
    value,
    json,
    // What some writers escape so that their JSON can stand in a page.
    json.replaceAll('/', '\\/'),
    json.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e'),
    ...[percent, strict, strict.replace(/[-._~]/g, escaped)].flatMap((it) => [it, it.replace(/%../g, (code) => code.toLowerCase())]),
    encoded,
    bare,
    bare.replaceAll('+', '-').replaceAll('/', '_'),
  ];
}

function escaped(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

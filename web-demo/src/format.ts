import type { Json } from './types';

/** A token of formatted JSON. */
export interface JsonToken {
  kind: 'key' | 'string' | 'number' | 'word' | 'mark';
  text: string;
}

const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|[\s{}[\],:]+/g;

/** Formats a value as indented JSON, split into tokens for highlighting. */
export function toJsonTokens(value: Json): JsonToken[] {
  const out: JsonToken[] = [];
  for (const [text, string, colon, number, word] of JSON.stringify(value, null, 2).matchAll(TOKEN)) {
    if (string !== undefined && colon !== undefined) out.push({ kind: 'key', text: string }, { kind: 'mark', text: colon });
    else if (string !== undefined) out.push({ kind: 'string', text });
    else if (number !== undefined) out.push({ kind: 'number', text });
    else out.push({ kind: word === undefined ? 'mark' : 'word', text });
  }
  return out;
}

/** Parses a text that is a JSON object or list; `undefined` for other texts. */
export function parseStructured(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Formats a duration, such as `1.5 s` or `20 ms`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds >= 1000) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  return milliseconds >= 10 ? `${Math.round(milliseconds)} ms` : `${Number(milliseconds.toFixed(1))} ms`;
}

const PREVIEW_CHARS = 200;

/** Returns the beginning of a text on one line. */
export function formatPreview(text: string): string {
  return text.slice(0, PREVIEW_CHARS).replaceAll(/\s+/g, ' ').trim();
}

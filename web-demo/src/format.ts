import type { Json } from './types';

/** A piece of printed JSON with what it is. */
export interface JsonToken {
  kind: 'key' | 'string' | 'number' | 'word' | 'mark';
  text: string;
}

const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|(-?\d[\d.eE+-]*)|(true|false|null)|[\s{}[\],:]+/g;

/** Prints a value as indented JSON, in pieces that can be coloured. */
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

/** Reads a text as JSON when it is an object or a list, for display only. */
export function parseStructured(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Says a duration the way a person reads it. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds >= 1000) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  return milliseconds >= 10 ? `${Math.round(milliseconds)} ms` : `${Number(milliseconds.toFixed(1))} ms`;
}

const PREVIEW_CHARS = 200;

/** Puts the beginning of a text into one line. */
export function formatPreview(text: string): string {
  return text.slice(0, PREVIEW_CHARS).replaceAll(/\s+/g, ' ').trim();
}

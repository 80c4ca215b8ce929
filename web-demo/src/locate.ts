import { position, type Span } from './json-text';

/** A stretch of a text with the line it begins on. */
export interface Place {
  start: number;
  end: number;
  line: number;
}

/** Finds the place of an issue's path, such as `ce_rule[3].match_pattern`, in the text of a pack. */
export function locate(pack: string, root: Span, path: string): Place | undefined {
  const keys = path.match(/[^.[\]]+/g) ?? [];
  const tables = root.members?.get('tables');
  const span = follow(root, keys) ?? (tables && follow(tables, keys));
  return span && { start: span.start, end: span.end, line: position(pack, span.start).line };
}

/** Follows the path as far as it goes: an issue about an absent column still leads to its row. */
function follow(from: Span, keys: string[]): Span | undefined {
  let span: Span | undefined;
  for (const key of keys) {
    const next: Span | undefined = (span ?? from).members?.get(key) ?? (span ?? from).elements?.[Number(key)];
    if (!next) break;
    span = next;
  }
  return span;
}

import { idColumn } from './config/id-column';
import { isProgram } from './flow/flow-pack';
import { parseSpans, position, type Span } from './json-text';
import type { Issue } from './types';

/** A range of a text with its first line, counted from one. */
export interface TextRange {
  start: number;
  end: number;
  line: number;
}

/** An issue with its range in the text. */
export type LocatedIssue = Issue & { range: TextRange | undefined };

/** Locates issues in the text of a pack. */
export function locateIssues(pack: string, issues: Issue[]): LocatedIssue[] {
  const root = parseSpans(pack);
  return issues.map((it) => ({ ...it, range: locateIssue(pack, root, it.path, it.document) }));
}

/** Locates the path of an issue, such as `ce_rule[3].match_pattern`, in the text of a pack; rows are named by id. */
export function locateIssue(pack: string, root: Span, path: string, document?: number): TextRange | undefined {
  if (path === '' || path.startsWith('/')) return locateInDocument(pack, root, path, document);
  const keys = [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map((it) => it[1] ?? it[0]);
  const tables = root.members?.get('tables');
  const span = followPath(pack, root, keys) ?? (tables && followPath(pack, tables, keys));
  return span && { start: span.start, end: span.end, line: position(pack, span.start).line };
}

/** Follows a JSON pointer as far as it resolves. */
export function followPointer(root: Span, pointer: string): Span {
  let span = root;
  for (const key of pointer.split('/').slice(1)) {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
    const next: Span | undefined = span.members?.get(name) ?? span.elements?.[Number(name)];
    if (!next) break;
    span = next;
  }
  return span;
}

/** Locates an issue of a document: of the one with an index, or of the first that can be played. */
function locateInDocument(pack: string, root: Span, pointer: string, index?: number): TextRange | undefined {
  const kind = ({ members }: Span) => {
    const doc = members?.get('doc');
    return doc && pack.slice(doc.start + 1, doc.end - 1);
  };
  const documents = root.members?.get('documents')?.elements;
  const document = index === undefined ? documents?.find((it) => isProgram({ doc: kind(it) })) : documents?.[index];
  if (!document) return undefined;
  const { start, end } = followPointer(document, pointer);
  return { start, end, line: position(pack, start).line };
}

/** Follows a path as far as it resolves: an issue about a missing column still leads to its row. */
function followPath(pack: string, from: Span, keys: string[]): Span | undefined {
  let span: Span | undefined;
  let owner = '';
  for (const key of keys) {
    const at = span ?? from;
    const next: Span | undefined = at.members?.get(key) ?? findRowSpan(pack, at, owner, key) ?? at.elements?.[Number(key)];
    if (!next) break;
    span = next;
    owner = key;
  }
  return span;
}

/** Finds the row of a table by its id. */
function findRowSpan(pack: string, list: Span, table: string, id: string): Span | undefined {
  return list.elements?.find(({ members }) => {
    const value = members?.get(idColumn(table, [...members.keys()]) ?? '');
    const json = value && pack.slice(value.start, value.end);
    return json === id || json === JSON.stringify(id);
  });
}

import type { EngineError } from '../client';
import { plural } from '../plural';
import type { LocatedIssue, SyntaxIssue } from '../simulator.svelte';

/** An issue of the pack at its range in the text. */
export interface Finding {
  start: number;
  end: number;
  line: number;
  severity: 'error' | 'warning';
  reason: string;
  hint: string;
  rule: string;
}

/** Converts issues to text ranges: invalid JSON has one finding, issues without a location have none. */
export function toFindings(text: string, issues: LocatedIssue[], syntax: SyntaxIssue | undefined): Finding[] {
  if (syntax) {
    const { offset, line, message: reason } = syntax;
    // At the end of the text, mark its last character.
    const start = offset < text.length ? offset : Math.max(0, text.trimEnd().length - 1);
    return [{ start, end: Math.min(start + 1, text.length), line, severity: 'error', reason, hint: '', rule: 'not JSON' }];
  }
  return issues.flatMap(({ range, severity, reason, hint, rule }) => {
    if (!range || range.end > text.length) return [];
    // An issue about a whole row or table is marked on its first line only.
    const firstLine = text.indexOf('\n', range.start);
    const end = firstLine < 0 || firstLine > range.end ? range.end : firstLine;
    return [{ start: range.start, end, line: range.line, severity, reason, hint, rule }];
  });
}

/** Counts errors and warnings. */
export function countIssues(issues: { severity: 'error' | 'warning' }[]): { errors: number; warnings: number } {
  const errors = issues.filter((it) => it.severity === 'error').length;
  return { errors, warnings: issues.length - errors };
}

/** Formats the counts, such as `1 error, 2 warnings`. */
export function issueCountText({ errors, warnings }: { errors: number; warnings: number }): string {
  const counted = [
    [errors, 'error'],
    [warnings, 'warning'],
  ] as const;
  const parts = counted.filter(([number]) => number > 0).map(([count, noun]) => plural(count, noun));
  return parts.join(', ') || 'No issues';
}

/** What a screen reader announces when issues appear or disappear; empty otherwise. */
export function issueAnnouncement(before: number, now: number, syntax: SyntaxIssue | undefined, failure: EngineError | undefined): string {
  if (syntax) return `Invalid JSON on line ${syntax.line}: ${syntax.message}`;
  if (failure) return `Pack rejected: ${failure.message}`;
  if (before === 0 && now > 0) return `The pack has ${plural(now, 'issue')}`;
  return before > 0 && now === 0 ? 'All issues resolved' : '';
}

/** The table, row and column of an issue. */
export interface RowPath {
  table: string;
  /** The id of the row, or its index where rows have no ids. */
  row: string | undefined;
  column: string | undefined;
}

/** Parses the path of an issue, such as `ce_rule[3].match_pattern`. */
export function parseRowPath(path: string): RowPath | undefined {
  const found = /^(?:tables\.)?([A-Za-z_]\w*)(?:\[([^\]]*)\](?:\.([^.[\]]+))?)?/.exec(path);
  return found?.[1] ? { table: found[1], row: found[2], column: found[3] } : undefined;
}

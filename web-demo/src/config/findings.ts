import type { EngineError } from '../client';
import type { PlacedIssue, SyntaxFault } from '../simulator.svelte';

/** Something that is wrong with the pack, at its place in the text. */
export interface Finding {
  start: number;
  end: number;
  line: number;
  severity: 'error' | 'warning';
  reason: string;
  hint: string;
  rule: string;
}

/** Puts what is wrong into the places where it is marked: a text that is no JSON has one place, and issues without one none. */
export function findings(text: string, issues: PlacedIssue[], syntax: SyntaxFault | undefined): Finding[] {
  if (syntax) {
    const { offset, line, message: reason } = syntax;
    // At the end of the text nothing is left to mark but what stands before it.
    const start = offset < text.length ? offset : Math.max(0, text.trimEnd().length - 1);
    return [{ start, end: Math.min(start + 1, text.length), line, severity: 'error', reason, hint: '', rule: 'not JSON' }];
  }
  return issues.flatMap(({ place, severity, reason, hint, rule }) => {
    if (!place || place.end > text.length) return [];
    // An issue about a whole row or table is marked where that begins: a page full of waves tells nobody anything.
    const firstLine = text.indexOf('\n', place.start);
    const end = firstLine < 0 || firstLine > place.end ? place.end : firstLine;
    return [{ start: place.start, end, line: place.line, severity, reason, hint, rule }];
  });
}

/** How many errors and warnings there are. */
export function counts(issues: { severity: 'error' | 'warning' }[]): { errors: number; warnings: number } {
  const errors = issues.filter((it) => it.severity === 'error').length;
  return { errors, warnings: issues.length - errors };
}

/** Says the numbers in words. */
export function countsInWords({ errors, warnings }: { errors: number; warnings: number }): string {
  const words = [
    [errors, 'error'],
    [warnings, 'warning'],
  ] as const;
  const some = words.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}${number === 1 ? '' : 's'}`);
  return some.join(', ') || 'No issues';
}

/** Says in one sentence what a screen reader tells when the findings go from none to some or back to none; nothing otherwise. */
export function announcement(before: number, now: number, syntax: SyntaxFault | undefined, failure: EngineError | undefined): string {
  if (syntax) return `The pack is not JSON: line ${syntax.line}, ${syntax.message}`;
  if (failure) return `The engine refused the pack: ${failure.message}`;
  if (before === 0 && now > 0) return `The pack has ${now} issue${now === 1 ? '' : 's'}`;
  return before > 0 && now === 0 ? 'The pack has no issues any more' : '';
}

/** The row, and where it says so the column, that an issue is about. */
export interface RowPlace {
  table: string;
  /** The id of the row, or its place where rows have no ids. */
  row: string | undefined;
  column: string | undefined;
}

/** Reads the path of an issue, such as `ce_rule[3].match_pattern`. */
export function rowPlace(path: string): RowPlace | undefined {
  const found = /^(?:tables\.)?([A-Za-z_]\w*)(?:\[([^\]]*)\](?:\.([^.[\]]+))?)?/.exec(path);
  return found?.[1] ? { table: found[1], row: found[2], column: found[3] } : undefined;
}

import type { Issue } from '../types';

/** An issue as an engine writes it: of rows, or of a flow document. */
export interface Raw {
  severity: 'error' | 'warning' | 'info';
  path: string;
  reason?: string;
  hint?: string;
  rule?: string;
  code?: string;
  message?: string;
  fix?: string | null;
  graph?: string | null;
  node?: string | null;
}

/** Reads an issue; a hint of a document is shown among the warnings. */
export function issueOf({ severity, path, reason, hint, rule, code, message, fix, graph, node }: Raw): Issue {
  return {
    severity: severity === 'error' ? 'error' : 'warning',
    path,
    reason: reason ?? message ?? '',
    hint: hint ?? fix ?? '',
    rule: rule ?? code ?? '',
    ...(graph ? { graph } : {}),
    ...(node ? { node } : {}),
  };
}

import type { Issue } from '../types';

/** An issue as the engine reports it, for rows or for a flow document. */
export interface EngineIssue {
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
  document?: number | null;
}

/** Parses an issue; infos of a flow document become warnings. */
export function parseIssue({ severity, path, reason, hint, rule, code, message, fix, graph, node, document }: EngineIssue): Issue {
  return {
    severity: severity === 'error' ? 'error' : 'warning',
    path,
    reason: reason ?? message ?? '',
    hint: hint ?? fix ?? '',
    rule: rule ?? code ?? '',
    ...(graph ? { graph } : {}),
    ...(node ? { node } : {}),
    ...(typeof document === 'number' ? { document } : {}),
  };
}

import type { Finding } from '../config/findings';
import { JsonFault, position, spans } from '../json-text';
import { pointed } from '../locate';
import type { PlacedIssue } from '../simulator.svelte';
import type { FlowDocument } from './graph';

/** The node that an issue of a document is about. */
export function nodeOf({ graph, node, path }: PlacedIssue, document: FlowDocument): { graph: string; node: string } | undefined {
  if (graph && node) return { graph, node };
  const [, at, index] = /^\/graphs\/(\d+)\/nodes\/(\d+)(?:\/|$)/.exec(path) ?? [];
  const found = document.graphs.find((it) => it.index === Number(at));
  const id = found?.nodes.find((it) => it.index === Number(index))?.id;
  return at !== undefined && found && id !== undefined ? { graph: found.id, node: id } : undefined;
}

/** How many issues the nodes of a graph have. */
export function countsOf(issues: PlacedIssue[], document: FlowDocument, graph: string): Map<string, { errors: number; warnings: number }> {
  const out = new Map<string, { errors: number; warnings: number }>();
  for (const issue of issues) {
    const at = nodeOf(issue, document);
    if (at?.graph !== graph) continue;
    const sum = out.get(at.node) ?? { errors: 0, warnings: 0 };
    out.set(at.node, sum);
    sum[issue.severity === 'error' ? 'errors' : 'warnings']++;
  }
  return out;
}

/** The issues of one node. */
export function issuesOfNode(issues: PlacedIssue[], document: FlowDocument, graph: string, node: string): PlacedIssue[] {
  return issues.filter((it) => {
    const at = nodeOf(it, document);
    return at?.graph === graph && at.node === node;
  });
}

/** Puts the issues of a node to their places in the text of its data; a text that is no JSON has one place. */
export function inData(data: string, issues: PlacedIssue[]): Finding[] {
  let root: ReturnType<typeof spans>;
  try {
    root = spans(data);
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    const start = Math.max(0, Math.min(fault.offset, data.trimEnd().length - 1));
    return [{ start, end: start + 1, line: position(data, start).line, severity: 'error', reason: fault.message, hint: '', rule: 'not JSON' }];
  }
  return issues.map(({ path, severity, reason, hint, rule }) => {
    const inside = /^\/graphs\/\d+\/nodes\/\d+\/data(\/.*)?$/.exec(path);
    const span = inside ? pointed(root, inside[1] ?? '') : root;
    const line = data.indexOf('\n', span.start);
    return { start: span.start, end: line < 0 ? span.end : Math.min(span.end, line), line: position(data, span.start).line, severity, reason, hint, rule };
  });
}

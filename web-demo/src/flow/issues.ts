import type { Finding } from '../config/findings';
import { JsonSyntaxError, position, parseSpans } from '../json-text';
import { followPointer } from '../locate';
import type { LocatedIssue } from '../simulator.svelte';
import type { NodePlace } from './edit';
import type { FlowDocument } from './graph';

/** Finds the node of an issue, by the id of its graph in the pack. */
export function findIssueNode({ graph, node, path, document: index = -1 }: LocatedIssue, document: FlowDocument): { graph: string; node: string } | undefined {
  const graphs = document.graphs.filter((it) => it.documentIndex === (index < 0 ? document.index : index));
  const named = graphs.find((it) => it.localId === graph && it.nodes.some(({ id }) => id === node));
  if (named && node) return { graph: named.id, node };
  for (const it of graphs) {
    const found = it.nodes.find(({ pointer }) => path === pointer || path.startsWith(`${pointer}/`));
    if (found) return { graph: it.id, node: found.id };
  }
  return undefined;
}

/** Counts errors and warnings by node of a graph. */
export function countNodeIssues(issues: LocatedIssue[], document: FlowDocument, graph: string): Map<string, { errors: number; warnings: number }> {
  const out = new Map<string, { errors: number; warnings: number }>();
  for (const issue of issues) {
    const at = findIssueNode(issue, document);
    if (at?.graph !== graph) continue;
    const sum = out.get(at.node) ?? { errors: 0, warnings: 0 };
    out.set(at.node, sum);
    sum[issue.severity === 'error' ? 'errors' : 'warnings']++;
  }
  return out;
}

/** The issues of one node. */
export function nodeIssues(issues: LocatedIssue[], document: FlowDocument, graph: string, node: string): LocatedIssue[] {
  return issues.filter((it) => {
    const at = findIssueNode(it, document);
    return at?.graph === graph && at.node === node;
  });
}

/** Locates the issues of a node in the text of its data; invalid JSON has one finding. */
export function locateInData(data: string, issues: LocatedIssue[], place?: NodePlace): Finding[] {
  let root: ReturnType<typeof parseSpans>;
  try {
    root = parseSpans(data);
  } catch (fault) {
    if (!(fault instanceof JsonSyntaxError)) throw fault;
    const start = Math.max(0, Math.min(fault.offset, data.trimEnd().length - 1));
    return [{ start, end: start + 1, line: position(data, start).line, severity: 'error', reason: fault.message, hint: '', rule: 'not JSON' }];
  }
  return issues.map(({ path, severity, reason, hint, rule }) => {
    const start = place && `${place.pointer}/${place.member}/`;
    const span = start && path.startsWith(start) ? followPointer(root, path.slice(start.length - 1)) : root;
    const line = data.indexOf('\n', span.start);
    return { start: span.start, end: line < 0 ? span.end : Math.min(span.end, line), line: position(data, span.start).line, severity, reason, hint, rule };
  });
}

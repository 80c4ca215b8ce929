import type { Notice } from '../types';

/** The node that something told of a walk is about; nothing of what else is told. */
export function nodeNamed(notice: Notice): { graph: string; id: string } | undefined {
  if (notice.kind !== 'audit' || !/^[a-z]/.test(notice.stage)) return undefined;
  const { payload } = notice;
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined;
  const { graph, node } = payload;
  return typeof graph === 'string' && typeof node === 'string' ? { graph, id: node } : undefined;
}

/** The node that a step of a flow is called by, `graph/node`. */
export function nodeOfStep(step: string): { graph: string; id: string } | undefined {
  const [graph, id] = step.split('/');
  return graph && id ? { graph, id } : undefined;
}

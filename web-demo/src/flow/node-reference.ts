import type { Notice } from '../types';

/** Finds the node of a flow notice; `undefined` for other notices. */
export function findNoticeNode(notice: Notice): { graph: string; id: string } | undefined {
  if (notice.kind !== 'audit' || !/^[a-z]/.test(notice.stage)) return undefined;
  const { payload } = notice;
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined;
  const { graph, node } = payload;
  return typeof graph === 'string' && typeof node === 'string' ? { graph, id: node } : undefined;
}

/** Parses a flow step name of the form `graph/node`. */
export function parseStepNode(step: string): { graph: string; id: string } | undefined {
  const [graph, id] = step.split('/');
  return graph && id ? { graph, id } : undefined;
}

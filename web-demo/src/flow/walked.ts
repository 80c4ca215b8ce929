/** What a turn did in the graphs, and where the session stands. */
import type { JsonObject, Notice, TurnRecord } from '../types';
import { sessionOf, stackOf, type Frame } from './session';

/** What a turn went through, by `graph/node`; edges as `graph/node target`. */
export interface Walked {
  nodes: Set<string>;
  edges: Set<string>;
  /** The port by which each node was left. */
  ports: Map<string, string>;
}

/** Reads from what was told of a turn which nodes and edges it went through. */
export function walked(turn: { notices: Notice[]; record: Pick<TurnRecord, 'outcome'> | undefined } | undefined): Walked {
  const out: Walked = { nodes: new Set(), edges: new Set(), ports: new Map() };
  for (const notice of turn?.notices ?? []) {
    if (notice.kind !== 'audit' || (notice.stage !== 'node.enter' && notice.stage !== 'edge')) continue;
    const { graph, node, target } = notice.payload as JsonObject;
    // What had waited is not entered again; it is left, though.
    out.nodes.add(`${String(graph)}/${String(node)}`);
    if (notice.stage === 'edge') out.edges.add(`${String(graph)}/${String(node)} ${String(target)}`);
  }
  for (const { graph, id, port } of turn?.record?.outcome.flow?.debug.nodes ?? []) if (port) out.ports.set(`${graph}/${id}`, port);
  return out;
}

/** The frames at the place where everybody looks: those of the turn's end, or the node of one of its steps. */
export function framesAt(record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined, step: number | undefined): Frame[] {
  const stack = stackOf(sessionOf(record));
  const [graph, node] = (step === undefined ? '' : (record?.steps[step]?.step ?? '')).split('/');
  if (!graph || !node) return stack;
  const at = stack.findIndex((it) => it.graph === graph);
  // The graphs that called it are known as long as they are open at the end.
  return [...(at < 0 ? stack.slice(0, 1).filter((it) => it.graph !== graph) : stack.slice(0, at)), { graph, node, kind: 'subflow' }];
}

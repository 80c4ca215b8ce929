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

/** A turn as far as it is read where its session stands. */
interface Standing {
  notices: Notice[];
  record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined;
  parent: { ended: { record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined } | undefined } | undefined;
}

/** The frames of a turn at one of its steps or at its end; of one that still runs, those before it and the node that it has come to. */
export function framesOf(turn: Standing | undefined, step: number | undefined): Frame[] {
  if (!turn) return [];
  if (turn.record) return framesAt(turn.record, step);
  const before = framesAt(turn.parent?.ended?.record, undefined);
  const entered = turn.notices.findLast((it) => it.kind === 'audit' && it.stage === 'node.enter');
  if (entered?.kind !== 'audit') return before;
  const { graph, node } = entered.payload as JsonObject;
  return inside(before, String(graph), String(node));
}

/** The frames at the place where everybody looks: those of the turn's end, or the node of one of its steps. */
export function framesAt(record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined, step: number | undefined): Frame[] {
  const stack = stackOf(sessionOf(record));
  const [graph, node] = (step === undefined ? '' : (record?.steps[step]?.step ?? '')).split('/');
  if (!graph || !node) return stack;
  return inside(stack, graph, node);
}

/** The graphs that called a graph are known as long as they are open. */
function inside(stack: Frame[], graph: string, node: string): Frame[] {
  const at = stack.findIndex((it) => it.graph === graph);
  return [...(at < 0 ? stack.slice(0, 1) : stack.slice(0, at)), { graph, node, kind: 'subflow' }];
}

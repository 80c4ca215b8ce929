/** The path of a turn through the graphs, and the position of its session. */
import type { JsonObject, Notice, TurnRecord } from '../types';
import { readFlowSession, readStack, type StackFrame } from './session';

/** Nodes and edges of a turn: nodes as `graph/node`, edges as `graph/node target`. */
export interface FlowPath {
  nodes: Set<string>;
  edges: Set<string>;
  /** The port through which each node was left. */
  ports: Map<string, string>;
}

/** Reads the path of a turn from its notices. */
export function tracePath(turn: { notices: Notice[]; record: Pick<TurnRecord, 'outcome'> | undefined } | undefined): FlowPath {
  const out: FlowPath = { nodes: new Set(), edges: new Set(), ports: new Map() };
  for (const notice of turn?.notices ?? []) {
    if (notice.kind !== 'audit' || (notice.stage !== 'node.enter' && notice.stage !== 'edge')) continue;
    const { graph, node, target } = notice.payload as JsonObject;
    // A node that was waiting is left without being entered again.
    out.nodes.add(`${String(graph)}/${String(node)}`);
    if (notice.stage === 'edge') out.edges.add(`${String(graph)}/${String(node)} ${String(target)}`);
  }
  for (const { graph, id, port } of turn?.record?.outcome.flow?.debug.nodes ?? []) if (port) out.ports.set(`${graph}/${id}`, port);
  return out;
}

/** The part of a turn that gives the position of its session. */
interface FlowTurn {
  notices: Notice[];
  record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined;
  parent: { lastFinished: { record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined } | undefined } | undefined;
}

/** The call stack at a step or at the end of a turn; for a running turn, the stack before it with the node it has reached. */
export function currentFrames(turn: FlowTurn | undefined, step: number | undefined): StackFrame[] {
  if (!turn) return [];
  if (turn.record) return framesAtStep(turn.record, step);
  const before = framesAtStep(turn.parent?.lastFinished?.record, undefined);
  const entered = turn.notices.findLast((it) => it.kind === 'audit' && it.stage === 'node.enter');
  if (entered?.kind !== 'audit') return before;
  const { graph, node } = entered.payload as JsonObject;
  return enterNode(before, String(graph), String(node));
}

/** The call stack at a step of a turn, or at its end. */
export function framesAtStep(record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined, step: number | undefined): StackFrame[] {
  const stack = readStack(readFlowSession(record));
  const [graph, node] = (step === undefined ? '' : (record?.steps[step]?.step ?? '')).split('/');
  if (!graph || !node) return stack;
  return enterNode(stack, graph, node);
}

/** Keeps the callers of a graph, as long as they are on the stack. */
function enterNode(stack: StackFrame[], graph: string, node: string): StackFrame[] {
  const at = stack.findIndex((it) => it.graph === graph);
  return [...(at < 0 ? stack.slice(0, 1) : stack.slice(0, at)), { graph, node, kind: 'subflow' }];
}

/** The path of a turn through the graphs of all programs, and the position of its session. */
import { readRun } from '../chain/run';
import type { JsonObject, Notice, TurnRecord } from '../types';
import { graphKey, type FlowDocument, type FlowGraph } from './graph';
import { flowAnswer, readFlowSession, readStack, type StackFrame } from './session';
import { plainStage } from '../stage-tone';

/** Nodes and edges of a turn: nodes as `graph/node`, edges as `graph/node target`. */
export interface FlowPath {
  nodes: Set<string>;
  edges: Set<string>;
  /** The port through which each node was left. */
  ports: Map<string, string>;
}

/** The part of a turn that gives the position of its session. */
interface FlowTurn {
  notices: Notice[];
  record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined;
  parent: { lastFinished: { record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined } | undefined } | undefined;
}

/** A node that a notice names, in the program that has the conversation then. */
interface Visit {
  seq: number;
  /** The kind of the notice without the prefix of workflow graphs. */
  stage: string;
  /** The id of the graph in the pack. */
  graph: string;
  node: string;
  target: string;
}

/** Reads the path of a turn from its notices. */
export function tracePath(turn: FlowTurn | undefined, document?: FlowDocument): FlowPath {
  const out: FlowPath = { nodes: new Set(), edges: new Set(), ports: new Map() };
  const visits = turn ? listVisits(turn, document) : [];
  for (const { stage, graph, node, target } of visits) {
    // A node that was waiting is left without being entered again.
    out.nodes.add(`${graph}/${node}`);
    if (stage !== 'node.enter' && stage !== 'chain.step') out.edges.add(`${graph}/${node} ${target}`);
  }
  const entered = visits.filter((it) => it.stage === 'node.enter');
  for (const [index, { graph, id, port }] of (flowAnswer(turn?.record?.outcome)?.debug.nodes ?? []).entries()) {
    const visit = entered[index];
    const key = visit?.node === id ? visit.graph : graph;
    if (port) out.ports.set(`${key}/${id}`, port);
  }
  addRunEdges(out, turn, document);
  return out;
}

/** Steps of a run that follow each other are connected. */
function addRunEdges(out: FlowPath, turn: FlowTurn | undefined, document: FlowDocument | undefined): void {
  const graph = document?.graphs[0];
  if (graph?.kind !== 'chain' || !turn) return;
  const before = readRun(turn.parent?.lastFinished?.record?.outcome)?.cursor?.split('/').at(-1);
  const steps = [...(before ? [before] : []), ...runSteps(turn.notices)];
  steps.forEach((step, index) => out.edges.add(`${graph.id}/${steps[index - 1] ?? ''} ${step}`));
}

/** The steps of a run that a turn began, in order. */
function runSteps(notices: Notice[]): string[] {
  return notices.flatMap((it) => {
    const { path, status } = it.kind === 'audit' && it.stage === 'chain.step' ? (it.payload as JsonObject) : {};
    return typeof path === 'string' && (status === 'running' || status === 'skipped') ? [path.split('/').at(-1) ?? ''] : [];
  });
}

/** Stages that name a node of the path; workflow graphs have routes instead of edges. */
const PATH_STAGES = ['node.enter', 'edge', 'node.route'];

/** Lists the nodes that the notices of a turn name. Which program they belong to follows from the hops before them. */
function listVisits(turn: FlowTurn, document: FlowDocument | undefined): Visit[] {
  const before = document ? programFrames(readFlowSession(turn.parent?.lastFinished?.record), document) : [];
  let programs = document ? [...new Set([document.id, ...before.map((it) => it.program)])] : [];
  return turn.notices.flatMap((notice): Visit[] => {
    if (notice.kind !== 'audit') return [];
    const { graph, node, target, workflow, agent, path } = notice.payload as JsonObject;
    if (notice.stage === 'chain.step' && typeof path === 'string' && document) {
      programs = programs.slice(0, 1);
      return [{ seq: notice.seq, stage: notice.stage, graph: document.id, node: path.split('/').at(-1) ?? '', target: '' }];
    }
    const stage = plainStage(notice.stage);
    const callee = stage === 'subworkflow.enter' ? workflow : stage === 'agent.hop' ? agent : undefined;
    if (typeof callee === 'string') programs = [...programs, callee];
    if (!PATH_STAGES.includes(stage)) return [];
    const found = document && findGraph(document, programs, String(graph), String(node));
    if (found) programs = programs.slice(0, programs.lastIndexOf(found.document) + 1);
    return [{ seq: notice.seq, stage, graph: found?.id ?? String(graph), node: String(node), target: String(target) }];
  });
}

/** Finds a graph that has a node, in the innermost program first. */
function findGraph(document: FlowDocument, programs: string[], graph: string, node: string): FlowGraph | undefined {
  const found = document.graphs.filter((it) => it.localId === graph);
  for (const program of programs.toReversed()) {
    const own = found.find((it) => it.document === program && it.nodes.some(({ id }) => id === node));
    if (own) return own;
  }
  return undefined;
}

/** A frame of the call stack of a program. */
export interface ProgramFrame extends StackFrame {
  program: string;
}

/** The call stack at a step or at the end of a turn; for a running turn, the stack before it with the node it has reached. */
export function currentFrames(turn: FlowTurn | undefined, step: number | undefined, document?: FlowDocument): StackFrame[] {
  if (!turn) return [];
  if (turn.record) return framesAtStep(turn.record, step, document, turn);
  const before = framesAtStep(turn.parent?.lastFinished?.record, undefined, document);
  const entered = listVisits(turn, document).findLast((it) => it.stage === 'node.enter' || it.stage === 'chain.step');
  return entered ? enterNode(before, entered.graph, entered.node) : before;
}

/** The call stack at a step of a turn, or at its end. */
export function framesAtStep(record: Pick<TurnRecord, 'outcome' | 'steps'> | undefined, step: number | undefined, document?: FlowDocument, turn?: FlowTurn): StackFrame[] {
  const session = readFlowSession(record);
  const stack: StackFrame[] = document ? programFrames(session, document) : readStack(session);
  const info = step === undefined ? undefined : record?.steps[step];
  const [graph, node] = (info?.step ?? '').split('/');
  if (!graph || !node) return stack;
  const visit = turn && listVisits(turn, document).find((it) => it.seq === info?.seq && it.node === node);
  return enterNode(stack, visit?.graph ?? graph, node);
}

/** The call stacks of a session and of the programs that it runs, outermost first; of a run, its step and the session of that step. */
export function programFrames(session: JsonObject | undefined, document: FlowDocument): ProgramFrame[] {
  const out: ProgramFrame[] = [];
  let [at, program] = [session, document.id];
  const cursor = session?.['cursor'];
  if (session?.['program'] === 'chain') {
    if (typeof cursor !== 'string') return out;
    const node = cursor.split('/').at(-1) ?? '';
    out.push({ graph: document.id, node, kind: 'root', program });
    program = calledProgram(document, document.id, node);
    at = asObject(session['child']);
  }
  while (at) {
    const frames = readStack(at);
    const isOuter = program === document.id;
    out.push(...frames.map((it) => ({ ...it, graph: isOuter ? it.graph : graphKey(program, it.graph), program })));
    const node = frames.at(-1)?.node ?? '';
    const graph = out.at(-1)?.graph ?? '';
    at = asObject(asObject(asObject(at['vars'])?.['_child'])?.[node]);
    program = calledProgram(document, graph, node);
  }
  return out;
}

/** The document that a node runs; a step of a chain may name it by its name. */
export function calledProgram(document: FlowDocument, graph: string, node: string): string {
  const target = document.graphs.find((it) => it.id === graph)?.nodes.find((it) => it.id === node)?.runs ?? '';
  const byName = document.graphs.find((it) => it.kind === 'root' && it.name.trim().toLowerCase() === target.trim().toLowerCase());
  return document.graphs.some((it) => it.document === target) ? target : (byName?.document ?? target);
}

function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** Keeps the callers of a graph, as long as they are on the stack. */
function enterNode(stack: StackFrame[], graph: string, node: string): StackFrame[] {
  const at = stack.findIndex((it) => it.graph === graph);
  return [...(at < 0 ? stack.slice(0, 1) : stack.slice(0, at)), { graph, node, kind: 'subflow' }];
}

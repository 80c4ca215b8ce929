/** Lays out a graph: at the positions in the document, or in layers from the entry downwards. The result is deterministic. */
import type { FlowEdge, FlowGraph, FlowNode } from './graph';

/** The size of a node. */
export const NODE_WIDTH = 176;
export const NODE_HEIGHT = 46;
const COLUMN_GAP = 28;
const ROW_GAP = 58;
const MAX_SWEEPS = 6;

/** A node with the position of its top left corner. */
export interface PlacedNode {
  node: FlowNode;
  x: number;
  y: number;
}

/** An edge as it is drawn. */
export interface DrawnEdge {
  edge: FlowEdge;
  path: string;
  /** The position of its label. */
  x: number;
  y: number;
}

/** The points where edges cross layers. */
type Bends = Map<FlowEdge, { x: number; y: number }[]>;

/** A drawn graph with its nodes in reading order. */
export interface Drawing {
  nodes: PlacedNode[];
  lines: DrawnEdge[];
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Draws a graph. */
export function drawGraph(graph: FlowGraph): Drawing {
  const hasPositions = graph.nodes.every((it) => it.position);
  const { placed, bends } = hasPositions ? { placed: graph.nodes.map((node) => ({ node, x: node.position?.x ?? 0, y: node.position?.y ?? 0 })), bends: new Map() as Bends } : arrangeLayers(graph);
  const nodes = placed.toSorted((a, b) => a.y - b.y || a.x - b.x || a.node.index - b.node.index);
  const left = Math.min(0, ...nodes.map((it) => it.x));
  const top = Math.min(0, ...nodes.map((it) => it.y));
  const width = Math.max(NODE_WIDTH, ...nodes.map((it) => it.x + NODE_WIDTH)) - left;
  const height = Math.max(NODE_HEIGHT, ...nodes.map((it) => it.y + NODE_HEIGHT)) - top;
  return { nodes, lines: drawEdges(graph, nodes, bends), left, top, width, height };
}

/** An item of a layer: a node, or the point where an edge crosses the layer. */
interface LayerItem {
  id: string;
  index: number;
  node: FlowNode | undefined;
}

const CROSSING_WIDTH = 12;

function arrangeLayers(graph: FlowGraph): { placed: PlacedNode[]; bends: Bends } {
  const { layers: plain, depth, back } = assignLayers(graph);
  const neighbours = new Map<string, string[]>();
  const connect = (one: string, other: string) => {
    neighbours.set(one, [...(neighbours.get(one) ?? []), other]);
    neighbours.set(other, [...(neighbours.get(other) ?? []), one]);
  };
  const layers = plain.map((layer) => layer.map((node): LayerItem => ({ id: node.id, index: node.index, node })));
  const crossings = new Map<FlowEdge, string[]>();
  graph.edges.forEach((edge, index) => {
    const [from, to] = [depth.get(edge.source), depth.get(edge.target)];
    if (from === undefined || to === undefined) return;
    const through: string[] = [];
    if (!back.has(`${edge.source} ${edge.target}`)) {
      for (let at = from + 1; at < to; at++) {
        const id = `${index} crosses ${at}`;
        layers[at]?.push({ id, index: graph.nodes.length + index, node: undefined });
        through.push(id);
      }
    }
    [edge.source, ...through].forEach((it, at, all) => connect(it, all[at + 1] ?? edge.target));
    crossings.set(edge, through);
  });
  const sorted = orderLayers(layers, neighbours);
  const x = assignPositions(sorted, neighbours);
  const y = new Map(sorted.flatMap((layer, at) => layer.map(({ id }) => [id, at * (NODE_HEIGHT + ROW_GAP)] as const)));
  const placed = sorted.flat().flatMap(({ id, node }) => (node ? [{ node, x: x.get(id) ?? 0, y: y.get(id) ?? 0 }] : []));
  const bends: Bends = new Map([...crossings].map(([edge, ids]) => [edge, ids.map((id) => ({ x: x.get(id) ?? 0, y: y.get(id) ?? 0 }))]));
  return { placed, bends };
}

/** Assigns horizontal positions, close to the neighbours of each item. */
function assignPositions(layers: LayerItem[][], neighbours: Map<string, string[]>): Map<string, number> {
  const x = new Map<string, number>();
  const wide = new Map(layers.flat().map(({ id, node }) => [id, node ? NODE_WIDTH : CROSSING_WIDTH]));
  const width = (id: string) => wide.get(id) ?? NODE_WIDTH;
  for (const layer of layers) layer.reduce((at, { id }) => (x.set(id, at), at + width(id) + COLUMN_GAP), 0);
  const middle = (id: string) => (x.get(id) ?? 0) + width(id) / 2;
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const preferred = layer.map(({ id }) => (mean((neighbours.get(id) ?? []).map(middle)) ?? middle(id)) - width(id) / 2);
      const at: number[] = [];
      preferred.forEach((wanted, index) => {
        const before = layer[index - 1];
        at.push(before ? Math.max(wanted, (at[index - 1] ?? 0) + width(before.id) + COLUMN_GAP) : wanted);
      });
      // Shift the layer so that displaced items average out.
      const drift = mean(at.map((it, index) => it - (preferred[index] ?? 0))) ?? 0;
      layer.forEach(({ id }, index) => x.set(id, Math.round((at[index] ?? 0) - drift)));
    }
  }
  return x;
}

/** Assigns each node the length of its longest acyclic path from the entry. */
function assignLayers(graph: FlowGraph): { layers: FlowNode[][]; depth: Map<string, number>; back: Set<string> } {
  const known = new Map(graph.nodes.map((it) => [it.id, it]));
  const next = new Map<string, string[]>();
  for (const { source, target } of graph.edges) {
    if (known.has(source) && known.has(target)) next.set(source, [...(next.get(source) ?? []), target]);
  }
  const { order, back } = sortDepthFirst(graph, next);
  const depth = new Map<string, number>();
  for (const id of order) {
    const here = depth.get(id) ?? 0;
    depth.set(id, here);
    for (const target of next.get(id) ?? []) if (!back.has(`${id} ${target}`)) depth.set(target, Math.max(depth.get(target) ?? 0, here + 1));
  }
  const layers: FlowNode[][] = [];
  for (const node of graph.nodes) (layers[depth.get(node.id) ?? 0] ??= []).push(node);
  return { layers, depth, back };
}

/** Traverses a graph depth first; returns a topological order and the back edges. */
function sortDepthFirst(graph: FlowGraph, next: Map<string, string[]>): { order: string[]; back: Set<string> } {
  const targets = new Set([...next.values()].flat());
  const starts = [graph.entry, ...graph.nodes.map((it) => it.id).filter((it) => !targets.has(it)), ...graph.nodes.map((it) => it.id)];
  const state = new Map<string, 'open' | 'done'>();
  const back = new Set<string>();
  const finished: string[] = [];
  for (const start of starts) {
    if (state.has(start) || !graph.nodes.some((it) => it.id === start)) continue;
    const stack = [{ id: start, at: 0 }];
    state.set(start, 'open');
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const target = next.get(top.id)?.[top.at++];
      if (target === undefined) {
        state.set(top.id, 'done');
        finished.push(top.id);
        stack.pop();
      } else if (state.get(target) === 'open') back.add(`${top.id} ${target}`);
      else if (!state.has(target)) {
        state.set(target, 'open');
        stack.push({ id: target, at: 0 });
      }
    }
  }
  return { order: finished.reverse(), back };
}

/** Reorders each layer by its neighbours in adjacent layers to reduce edge crossings. */
function orderLayers(layers: LayerItem[][], neighbours: Map<string, string[]>): LayerItem[][] {
  const out = layers.map((it) => [...it]);
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (let step = 1; step < out.length; step++) {
      const at = down ? step : out.length - 1 - step;
      const beside = new Map(out[down ? at - 1 : at + 1]?.map((it, index) => [it.id, index]) ?? []);
      const preferred = new Map(out[at]?.map((it, index) => [it.id, mean((neighbours.get(it.id) ?? []).flatMap((other) => beside.get(other) ?? [])) ?? index]) ?? []);
      out[at]?.sort((a, b) => (preferred.get(a.id) ?? 0) - (preferred.get(b.id) ?? 0) || a.index - b.index);
    }
  }
  return out;
}

function mean(numbers: number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((sum, it) => sum + it, 0) / numbers.length;
}

function drawEdges(graph: FlowGraph, nodes: PlacedNode[], bends: Bends): DrawnEdge[] {
  const at = new Map(nodes.map((it) => [it.node.id, it]));
  const leaving = new Map<string, FlowEdge[]>();
  for (const edge of graph.edges) leaving.set(edge.source, [...(leaving.get(edge.source) ?? []), edge]);
  // Outgoing edges are ordered by target position so that they do not cross at the node.
  const leads = (it: FlowEdge) => bends.get(it)?.[0]?.x ?? at.get(it.target)?.x ?? 0;
  for (const edges of leaving.values()) edges.sort((a, b) => leads(a) - leads(b));
  return graph.edges.flatMap((edge) => {
    const [from, to] = [at.get(edge.source), at.get(edge.target)];
    if (!from || !to) return [];
    const own = leaving.get(edge.source) ?? [edge];
    const start = from.x + (NODE_WIDTH * (own.indexOf(edge) + 1)) / (own.length + 1);
    return [to.y >= from.y + NODE_HEIGHT ? drawDown(edge, start, from, to, bends.get(edge) ?? []) : drawAround(edge, from, to)];
  });
}

/** Draws a downward edge through its bend points. */
function drawDown(edge: FlowEdge, x: number, from: PlacedNode, to: PlacedNode, through: { x: number; y: number }[]): DrawnEdge {
  const crossed = through.flatMap((it) => [
    { x: it.x + CROSSING_WIDTH / 2, y: it.y },
    { x: it.x + CROSSING_WIDTH / 2, y: it.y + NODE_HEIGHT },
  ]);
  const points = [{ x, y: from.y + NODE_HEIGHT }, ...crossed, { x: to.x + NODE_WIDTH / 2, y: to.y - 2 }];
  let path = `M${x} ${from.y + NODE_HEIGHT}`;
  points.slice(1).forEach((next, at) => {
    const last = points[at] ?? next;
    const bend = Math.min(60, (next.y - last.y) / 2);
    path += last.x === next.x ? `L${next.x} ${next.y}` : `C${last.x} ${last.y + bend} ${next.x} ${next.y - bend} ${next.x} ${next.y}`;
  });
  const [first, second] = points;
  return { edge, path, x: ((first?.x ?? 0) + (second?.x ?? 0)) / 2, y: ((first?.y ?? 0) + (second?.y ?? 0)) / 2 };
}

/** Draws a backward or sideways edge around the right side. */
function drawAround(edge: FlowEdge, from: PlacedNode, to: PlacedNode): DrawnEdge {
  const [x1, y1, x2, y2] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2, to.x + NODE_WIDTH, to.y + NODE_HEIGHT / 2];
  const out = Math.max(x1, x2) + 44;
  return { edge, path: `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2 + 2} ${y2}`, x: out - 12, y: (y1 + y2) / 2 };
}

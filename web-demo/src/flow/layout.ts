/** Where the nodes of a graph are drawn: where the document says, or in layers from the entry downwards. The same graph has always the same drawing. */
import type { FlowEdge, FlowGraph, FlowNode } from './graph';

/** The size of a node. */
export const WIDTH = 176;
export const HEIGHT = 46;
const BESIDE = 28;
const BELOW = 58;
const SWEEPS = 6;

/** A node with the corner where it is drawn. */
export interface Placed {
  node: FlowNode;
  x: number;
  y: number;
}

/** An edge as it is drawn. */
export interface Line {
  edge: FlowEdge;
  path: string;
  /** Where its label stands. */
  x: number;
  y: number;
}

/** Where edges cross layers. */
type Bends = Map<FlowEdge, { x: number; y: number }[]>;

/** A drawn graph; its nodes stand in reading order. */
export interface Drawing {
  nodes: Placed[];
  lines: Line[];
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Draws a graph. */
export function drawing(graph: FlowGraph): Drawing {
  const told = graph.nodes.every((it) => it.position);
  const { placed, bends } = told ? { placed: graph.nodes.map((node) => ({ node, x: node.position?.x ?? 0, y: node.position?.y ?? 0 })), bends: new Map() as Bends } : inLayers(graph);
  const nodes = placed.toSorted((a, b) => a.y - b.y || a.x - b.x || a.node.index - b.node.index);
  const left = Math.min(0, ...nodes.map((it) => it.x));
  const top = Math.min(0, ...nodes.map((it) => it.y));
  const width = Math.max(WIDTH, ...nodes.map((it) => it.x + WIDTH)) - left;
  const height = Math.max(HEIGHT, ...nodes.map((it) => it.y + HEIGHT)) - top;
  return { nodes, lines: lines(graph, nodes, bends), left, top, width, height };
}

/** What stands in a layer: a node, or the place where an edge crosses it. */
interface Item {
  id: string;
  index: number;
  node: FlowNode | undefined;
}

const CROSSING = 12;

function inLayers(graph: FlowGraph): { placed: Placed[]; bends: Bends } {
  const { layers: plain, depth, back } = layered(graph);
  const joined = new Map<string, string[]>();
  const join = (one: string, other: string) => {
    joined.set(one, [...(joined.get(one) ?? []), other]);
    joined.set(other, [...(joined.get(other) ?? []), one]);
  };
  const layers = plain.map((layer) => layer.map((node): Item => ({ id: node.id, index: node.index, node })));
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
    [edge.source, ...through].forEach((it, at, all) => join(it, all[at + 1] ?? edge.target));
    crossings.set(edge, through);
  });
  const sorted = ordered(layers, joined);
  const x = settled(sorted, joined);
  const y = new Map(sorted.flatMap((layer, at) => layer.map(({ id }) => [id, at * (HEIGHT + BELOW)] as const)));
  const placed = sorted.flat().flatMap(({ id, node }) => (node ? [{ node, x: x.get(id) ?? 0, y: y.get(id) ?? 0 }] : []));
  const bends: Bends = new Map([...crossings].map(([edge, ids]) => [edge, ids.map((id) => ({ x: x.get(id) ?? 0, y: y.get(id) ?? 0 }))]));
  return { placed, bends };
}

/** Gives everything its place in its layer, near to what it is joined with. */
function settled(layers: Item[][], joined: Map<string, string[]>): Map<string, number> {
  const x = new Map<string, number>();
  const wide = new Map(layers.flat().map(({ id, node }) => [id, node ? WIDTH : CROSSING]));
  const width = (id: string) => wide.get(id) ?? WIDTH;
  for (const layer of layers) layer.reduce((at, { id }) => (x.set(id, at), at + width(id) + BESIDE), 0);
  const middle = (id: string) => (x.get(id) ?? 0) + width(id) / 2;
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const wishes = layer.map(({ id }) => (mean((joined.get(id) ?? []).map(middle)) ?? middle(id)) - width(id) / 2);
      const at: number[] = [];
      wishes.forEach((wish, index) => {
        const before = layer[index - 1];
        at.push(before ? Math.max(wish, (at[index - 1] ?? 0) + width(before.id) + BESIDE) : wish);
      });
      // Whoever was pushed aside pulls the others along.
      const drift = mean(at.map((it, index) => it - (wishes[index] ?? 0))) ?? 0;
      layer.forEach(({ id }, index) => x.set(id, Math.round((at[index] ?? 0) - drift)));
    }
  }
  return x;
}

/** Gives each node the length of the longest way to it that does not go in a circle. */
function layered(graph: FlowGraph): { layers: FlowNode[][]; depth: Map<string, number>; back: Set<string> } {
  const known = new Map(graph.nodes.map((it) => [it.id, it]));
  const next = new Map<string, string[]>();
  for (const { source, target } of graph.edges) {
    if (known.has(source) && known.has(target)) next.set(source, [...(next.get(source) ?? []), target]);
  }
  const { order, back } = visited(graph, next);
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

/** Goes through a graph in depth: an order in which each node stands before those behind it, and the edges that lead back. */
function visited(graph: FlowGraph, next: Map<string, string[]>): { order: string[]; back: Set<string> } {
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

/** Puts what stands in each layer into the order of what is above and below, so that fewer edges cross. */
function ordered(layers: Item[][], joined: Map<string, string[]>): Item[][] {
  const out = layers.map((it) => [...it]);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (let step = 1; step < out.length; step++) {
      const at = down ? step : out.length - 1 - step;
      const beside = new Map(out[down ? at - 1 : at + 1]?.map((it, index) => [it.id, index]) ?? []);
      const wish = new Map(out[at]?.map((it, index) => [it.id, mean((joined.get(it.id) ?? []).flatMap((other) => beside.get(other) ?? [])) ?? index]) ?? []);
      out[at]?.sort((a, b) => (wish.get(a.id) ?? 0) - (wish.get(b.id) ?? 0) || a.index - b.index);
    }
  }
  return out;
}

function mean(numbers: number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((sum, it) => sum + it, 0) / numbers.length;
}

function lines(graph: FlowGraph, nodes: Placed[], bends: Bends): Line[] {
  const at = new Map(nodes.map((it) => [it.node.id, it]));
  const leaving = new Map<string, FlowEdge[]>();
  for (const edge of graph.edges) leaving.set(edge.source, [...(leaving.get(edge.source) ?? []), edge]);
  // Edges of one node leave it in the order of where they lead, so that they do not cross at once.
  const leads = (it: FlowEdge) => bends.get(it)?.[0]?.x ?? at.get(it.target)?.x ?? 0;
  for (const edges of leaving.values()) edges.sort((a, b) => leads(a) - leads(b));
  return graph.edges.flatMap((edge) => {
    const [from, to] = [at.get(edge.source), at.get(edge.target)];
    if (!from || !to) return [];
    const own = leaving.get(edge.source) ?? [edge];
    const start = from.x + (WIDTH * (own.indexOf(edge) + 1)) / (own.length + 1);
    return [to.y >= from.y + HEIGHT ? down(edge, start, from, to, bends.get(edge) ?? []) : around(edge, from, to)];
  });
}

/** An edge that leads down, through the places where it crosses layers. */
function down(edge: FlowEdge, x: number, from: Placed, to: Placed, through: { x: number; y: number }[]): Line {
  const crossed = through.flatMap((it) => [
    { x: it.x + CROSSING / 2, y: it.y },
    { x: it.x + CROSSING / 2, y: it.y + HEIGHT },
  ]);
  const points = [{ x, y: from.y + HEIGHT }, ...crossed, { x: to.x + WIDTH / 2, y: to.y - 2 }];
  let path = `M${x} ${from.y + HEIGHT}`;
  points.slice(1).forEach((next, at) => {
    const last = points[at] ?? next;
    const bend = Math.min(60, (next.y - last.y) / 2);
    path += last.x === next.x ? `L${next.x} ${next.y}` : `C${last.x} ${last.y + bend} ${next.x} ${next.y - bend} ${next.x} ${next.y}`;
  });
  const [first, second] = points;
  return { edge, path, x: ((first?.x ?? 0) + (second?.x ?? 0)) / 2, y: ((first?.y ?? 0) + (second?.y ?? 0)) / 2 };
}

/** An edge that leads back, or to the side, goes around at the right. */
function around(edge: FlowEdge, from: Placed, to: Placed): Line {
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x + WIDTH, to.y + HEIGHT / 2];
  const out = Math.max(x1, x2) + 44;
  return { edge, path: `M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2 + 2} ${y2}`, x: out - 12, y: (y1 + y2) / 2 };
}

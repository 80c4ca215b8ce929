/** Draws a chain as a graph: its steps below each other, its branches beside them. */
import type { FlowEdge, FlowNode, OwnGraph } from '../flow/graph';
import { asText, type Members } from '../flow/members';
import { readChain, type ChainBranch, type ChainStep } from './document';

/** The graph of a chain. Branches end at the step after the one that entered them, unless the run ends there. */
export function chainGraph(document: Members): OwnGraph {
  const { slug, name, steps, branches } = readChain(document);
  const all = [...steps, ...branches.flatMap((it) => it.steps)];
  const nodes = all.map((it, index) => toNode(it, index));
  const edges: Omit<FlowEdge, 'id'>[] = [];
  const drawn = new Set<string>();
  connect(steps, undefined, branches, edges, drawn);
  return { id: slug, localId: slug, kind: 'chain', name, entry: steps[0]?.id ?? '', nodes, edges: unique(edges).map((it, at) => ({ ...it, id: `#${at}` })), index: 0 };
}

function toNode({ id, label, kind, disabled, pointer, config }: ChainStep, index: number): FlowNode {
  const runs = asText(config['assistant']) || asText(config['agent']) || undefined;
  return { id, name: label, type: kind, disabled, position: undefined, index, pointer, runs };
}

/** Adds the edges of a sequence of steps, which continues with `after`. */
function connect(steps: ChainStep[], after: string | undefined, branches: ChainBranch[], edges: Omit<FlowEdge, 'id'>[], drawn: Set<string>): void {
  const add = (source: string, target: string | undefined, port: string, label: string) => target !== undefined && edges.push({ source, target, port, label });
  steps.forEach((step, index) => {
    const next = steps[index + 1]?.id ?? after;
    const exits = [...step.exits.map((it) => ({ ...it, port: it.branch })), ...(step.errorBranch ? [{ branch: step.errorBranch, label: 'on error', port: 'error' }] : [])];
    if (step.continues || step.kind !== 'decide') add(step.id, next, 'out', step.exits.length > 0 ? 'else' : '');
    for (const { branch: id, label, port } of exits) {
      const branch = branches.find((it) => it.id === id);
      if (!branch) continue;
      add(step.id, branch.steps[0]?.id, port, label);
      const key = `${id} ${branch.stops ? '' : (next ?? '')}`;
      // Each way through a branch is drawn once; branches may enter each other.
      if (drawn.has(key)) continue;
      drawn.add(key);
      connect(branch.steps, branch.stops ? undefined : next, branches, edges, drawn);
    }
  });
}

/** A branch that is entered twice has the same edges inside. */
function unique(edges: Omit<FlowEdge, 'id'>[]): Omit<FlowEdge, 'id'>[] {
  return [...new Map(edges.map((it) => [JSON.stringify([it.source, it.port, it.target]), it])).values()];
}

import { describe, expect, it } from 'vitest';
import { parseDocument, type FlowGraph } from '../../src/flow/graph';
import { findNodePlace, readNodeData } from '../../src/flow/edit';
import { drawGraph, NODE_HEIGHT, NODE_WIDTH } from '../../src/flow/layout';
import { assistantId, isFlowPack, talkProgram } from '../../src/flow/flow-pack';
import { framesAtStep, currentFrames, tracePath } from '../../src/flow/flow-path';
import { packs } from '../demo';
import { Script } from '../timeline/turn';
import SUPPORT from '../../../tests/packs/workflow/support.json?raw';
import { BANK } from './bank';

const bank = parseDocument(BANK);
const graph = (id: string): FlowGraph => bank?.graphs.find((it) => it.id === id) ?? fail(id);

function fail(what: string): never {
  throw new Error(`${what} is missing`);
}

/** A graph of nothing but edges. */
function plain(edges: [string, string][], entry = 'a'): FlowGraph {
  const ids = [...new Set(edges.flat())];
  const nodes = ids.map((id, index) => ({ id, name: id, type: 'set', disabled: false, position: undefined, index, pointer: `/nodes/${index}` }));
  return { id: 'g', localId: 'g', document: 'd', documentIndex: 0, doc: 'conversation_flow', kind: 'root', name: 'g', entry, nodes, edges: edges.map(([source, target], at) => ({ id: `e${at}`, source, port: 'out', target, label: '' })), index: 0 };
}

describe('a pack', () => {
  it('is a flow if it has a flow document and no tables, as in the engine', () => {
    expect(isFlowPack(BANK)).toBe(true);
    expect(assistantId(BANK)).toBe('bank');
    expect(packs.some((it) => isFlowPack(it.text))).toBe(false);
    expect(isFlowPack('{"documents": [{"doc": "conversation_flow"}], "tables": {}}')).toBe(true);
    expect(isFlowPack('{"documents": [{"doc": "conversation_flow"}], "tables": {"ce_rule": []}}')).toBe(false);
    expect(isFlowPack('{"documents": [{"doc": "ai_agent"}]}')).toBe(true);
    expect(isFlowPack('{"documents": [{"doc": "tool"}], "about": "conversation_flow"}')).toBe(false);
    expect(isFlowPack('{"documents": [{"doc": "conversation_flow"')).toBe(false);
    expect(isFlowPack('{"documents": [null, 7], "about": "conversation_flow"}')).toBe(false);
  });
});

describe('parseDocument', () => {
  it('reads a workflow graph as one graph, and the documents that it runs, whose nodes can be found in the text', () => {
    const support = parseDocument(SUPPORT);
    expect([isFlowPack(SUPPORT), talkProgram(SUPPORT), talkProgram(BANK)]).toEqual([true, 'workflow support', 'flow bank']);
    expect(support?.graphs.map((it) => [it.id, it.kind, it.entry, it.nodes.length])).toEqual([
      ['support', 'root', 'opened', 7],
      ['survey:survey', 'root', 'begin', 3],
      ['billing:root', 'root', 'r', 2],
      ['billing:g_pay', 'intent', 'i', 4],
      ['stars:root', 'root', 'r', 3],
    ]);
    expect(support?.graphs.map((it) => it.name)).toEqual(['Support', 'Survey', 'Billing', 'Billing: Pay', 'Stars']);
    expect([support?.variables.slice(0, 3), support?.redacted]).toEqual([['topic', 'order.status', 'rating'], ['card']]);
    const place = support && findNodePlace(support, 'support', 'look');
    expect(place && JSON.parse(readNodeData(SUPPORT, place))).toMatchObject({ tool_name: 'order_status' });
    const nested = support && findNodePlace(support, 'billing:g_pay', 'card');
    expect(nested && JSON.parse(readNodeData(SUPPORT, nested))).toMatchObject({ variable: 'card' });
  });

  it('reads the graphs by name, the root first and subflows last', () => {
    expect(bank?.graphs.map((it) => [it.kind, it.name])).toEqual([
      ['root', 'root'],
      ['intent', 'Check balance'],
      ['intent', 'Our accounts'],
      ['intent', 'Fallback'],
      ['subflow', 'g_auth'],
    ]);
    expect(graph('g_balance').edges.map((it) => it.label)).toContain('below 50');
    expect(graph('g_balance').edges.find((it) => it.id === 'be5')).toMatchObject({ port: 'failure', label: 'failure' });
    expect(bank?.redacted).toEqual(['user_pin']);
  });

  it('tolerates incomplete documents', () => {
    const wild = { documents: [7, { doc: 'conversation_flow', graphs: [{ id: 'a', nodes: [{}, null, { id: 'n', position: { x: 1, y: '2' } }], edges: [{ sourceHandle: 'x', source: 'n' }] }, 'no graph'] }] };
    const found = parseDocument(JSON.stringify(wild));
    expect(found?.index).toBe(1);
    expect(found?.graphs[0]?.nodes.map((it) => it.id)).toEqual(['#0', '#1', 'n']);
    expect(found?.graphs[0]?.edges[0]?.port).toBe('x');
    expect(parseDocument('{"documents": {}}')).toBeUndefined();
    expect(parseDocument('{')).toBeUndefined();
  });
});

describe('drawGraph', () => {
  it('places each node below its predecessors, without overlaps', () => {
    for (const one of bank?.graphs ?? []) {
      const { nodes, lines } = drawGraph(one);
      const at = new Map(nodes.map((it) => [it.node.id, it]));
      for (const { source, target, port } of one.edges) {
        if (port !== 'btn:retry') expect(at.get(target)?.y, `${source} ${target}`).toBeGreaterThan(at.get(source)?.y ?? 0);
      }
      for (const a of nodes) for (const b of nodes) if (a !== b && a.y === b.y) expect(Math.abs(a.x - b.x)).toBeGreaterThan(NODE_WIDTH);
      expect(lines).toHaveLength(one.edges.length);
    }
  });

  it('is deterministic and in reading order', () => {
    const one = graph('g_balance');
    expect(drawGraph(one)).toEqual(drawGraph(structuredClone(one)));
    const { nodes } = drawGraph(one);
    expect(nodes[0]?.node.id).toBe('b_intent');
    expect(nodes.every((it, index) => index === 0 || it.y >= (nodes[index - 1]?.y ?? 0))).toBe(true);
  });

  it('uses positions of the document and omits edges without a target', () => {
    const one = plain([['a', 'b'], ['b', 'a'], ['a', 'nowhere']]);
    const nodes = one.nodes.filter((it) => it.id !== 'nowhere').map((it, index) => ({ ...it, position: { x: 10, y: 300 - index * 200 } }));
    const drawn = drawGraph({ ...one, nodes });
    expect(drawn.nodes.map((it) => [it.node.id, it.x, it.y])).toEqual([['b', 10, 100], ['a', 10, 300]]);
    expect(drawn.lines).toHaveLength(2);
    expect(drawn.height).toBe(300 + NODE_HEIGHT);
  });

  it('handles cycles and unreachable nodes', () => {
    expect(drawGraph(plain([['a', 'b'], ['b', 'c'], ['c', 'a'], ['d', 'd'], ['e', 'b']])).nodes).toHaveLength(5);
    expect(drawGraph({ ...plain([]), nodes: [] })).toMatchObject({ nodes: [], lines: [], width: NODE_WIDTH, height: NODE_HEIGHT });
  });

  it('draws a thousand nodes quickly', () => {
    const edges = Array.from({ length: 999 }, (_, at): [string, string][] => [[`n${at}`, `n${at + 1}`], [`n${at}`, `n${Math.min(999, at + (at % 7))}`]]).flat();
    const begin = performance.now();
    expect(drawGraph(plain(edges, 'n0')).nodes).toHaveLength(1000);
    expect(performance.now() - begin).toBeLessThan(5000);
  });
});

describe('the position of a session', () => {
  const state = { stack: [{ graph: 'root', node: 'r_wait', kind: 'root' }, { graph: 'g_balance', node: 'b_auth', kind: 'intent' }, { graph: 'g_auth', node: 'a_pin', kind: 'subflow' }] };
  const turn = new Script()
    .addAudit('node.enter', { graph: 'g_balance', node: 'b_intent', name: 'Balance asked', type: 'intent' })
    .addAudit('edge', { graph: 'g_balance', node: 'b_intent', target: 'b_auth' })
    .addAudit('node.enter', { graph: 'g_balance', node: 'b_auth', name: 'Authenticate', type: 'subflow' })
    .addAudit('route', { graph: 'g_auth', node: 'a_known' })
    .finish(1, { writes: [{ table: 'flow', state }] });

  it('is its call stack, and at a step the node of the step', () => {
    expect(framesAtStep(turn.record, undefined).map((it) => it.node)).toEqual(['r_wait', 'b_auth', 'a_pin']);
    const steps = [{ step: 'g_balance/b_intent', seq: 0, finished: true, changed: false }, { step: 'g_other/o', seq: 1, finished: true, changed: false }];
    const record = turn.record && { ...turn.record, steps };
    expect(framesAtStep(record, 0).map((it) => `${it.graph}/${it.node}`)).toEqual(['root/r_wait', 'g_balance/b_intent']);
    expect(framesAtStep(record, 1).map((it) => `${it.graph}/${it.node}`)).toEqual(['root/r_wait', 'g_other/o']);
    expect(framesAtStep(undefined, undefined)).toEqual([]);
  });

  it('is the latest node while a turn runs', () => {
    const running = { notices: turn.notices.slice(0, 3), record: undefined, parent: { lastFinished: turn } };
    expect(currentFrames(running, undefined).map((it) => it.node)).toEqual(['r_wait', 'b_auth']);
    expect(currentFrames({ ...running, notices: [] }, undefined)).toEqual(framesAtStep(turn.record, undefined));
    expect(currentFrames({ ...running, parent: undefined }, undefined).map((it) => it.node)).toEqual(['b_auth']);
    expect(currentFrames({ notices: [], record: turn.record, parent: undefined }, undefined)).toHaveLength(3);
    expect(currentFrames(undefined, undefined)).toEqual([]);
  });

  it('has a path of nodes and edges', () => {
    const { nodes, edges } = tracePath({ ...turn, parent: undefined });
    expect([...nodes]).toEqual(['g_balance/b_intent', 'g_balance/b_auth']);
    expect([...edges]).toEqual(['g_balance/b_intent b_auth']);
    expect(tracePath(undefined).nodes.size).toBe(0);
  });
});

describe('the position of nested programs', () => {
  const support = parseDocument(SUPPORT) ?? fail('support');
  const child = { stack: [{ graph: 'g_pay', node: 'card', kind: 'intent' }], vars: {} };
  const state = { stack: [{ graph: 'support', node: 'billing', kind: 'root' }], vars: { _child: { billing: child } } };
  const hop = (script: Script, agent: string) => script.addAudit('workflow.agent.hop', { graph: 'support', node: 'billing', agent });
  const enter = (script: Script, graph: string, node: string) => script.addAudit('node.enter', { graph, node, name: node, type: 'x' });

  it('is the stack of each program that has the conversation', () => {
    const turn = new Script().finish(1, { writes: [{ table: 'flow', state }] });
    expect(currentFrames({ ...turn, parent: undefined }, undefined, support).map((it) => `${it.graph}/${it.node}`)).toEqual(['support/billing', 'billing:g_pay/card']);
    const running = { notices: [], record: undefined, parent: { lastFinished: turn } };
    expect(currentFrames(running, undefined, support)).toHaveLength(2);
  });

  it('tells graphs of the same id apart by the hops before them', () => {
    const script = enter(hop(new Script(), 'billing'), 'root', 'r').addAudit('workflow.node.route', { graph: 'support', node: 'billing', target: 'bye' });
    const turn = enter(hop(script, 'stars'), 'root', 'r').finish(1, { writes: [{ table: 'flow', state }] });
    expect([...tracePath({ ...turn, parent: undefined }, support).nodes]).toEqual(['billing:root/r', 'support/billing', 'stars:root/r']);
    expect([...tracePath({ ...turn, parent: undefined }, support).edges]).toEqual(['support/billing bye']);
  });

  it('goes on in the program that had the conversation before', () => {
    const before = new Script().finish(1, { writes: [{ table: 'flow', state }] });
    const turn = enter(new Script(), 'g_pay', 'set').addAudit('edge', { graph: 'g_pay', node: 'set', target: 'end' }).finish(2);
    const path = tracePath({ ...turn, parent: { lastFinished: before } }, support);
    expect([[...path.nodes], [...path.edges]]).toEqual([['billing:g_pay/set'], ['billing:g_pay/set end']]);
  });
});

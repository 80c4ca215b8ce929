/** The graphs of a flow document as they are drawn: read leniently, because what is being edited is wrong most of the time. */

/** A node of a graph. */
export interface FlowNode {
  id: string;
  name: string;
  type: string;
  disabled: boolean;
  position: { x: number; y: number } | undefined;
  /** Its place among the nodes of its graph. */
  index: number;
}

/** An edge between two nodes of a graph. */
export interface FlowEdge {
  id: string;
  source: string;
  port: string;
  target: string;
  /** What is written on it: its label, its condition, or its port. */
  label: string;
}

/** A graph of a document. */
export interface FlowGraph {
  id: string;
  kind: string;
  name: string;
  entry: string;
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** Its place among the graphs of the document. */
  index: number;
}

/** A document with its place in the pack. */
export interface FlowDocument {
  index: number;
  name: string;
  /** The root first, then the graphs of intents, then those that are called. */
  graphs: FlowGraph[];
  /** Variables whose values are not shown, as dotted paths. */
  redacted: string[];
}

type Members = Record<string, unknown>;

const KINDS = ['root', 'intent', 'subflow'];

/** Reads the flow document of a pack; nothing where there is none. */
export function documentOf(pack: string): FlowDocument | undefined {
  let documents: unknown;
  try {
    documents = (JSON.parse(pack) as Members)['documents'];
  } catch {
    return undefined;
  }
  const all = list(documents);
  const index = all.findIndex((it) => it['doc'] === 'conversation_flow');
  const document = all[index];
  if (!document) return undefined;
  const names = new Map(list(document['intents']).map((it) => [text(it['graph']), text(it['name'])]));
  const graphs = list(document['graphs']).map((it, at) => graphOf(it, at, names));
  const rank = (it: FlowGraph) => (KINDS.indexOf(it.kind) + KINDS.length + 1) % (KINDS.length + 1);
  return { index, name: text(document['name']), graphs: graphs.toSorted((a, b) => rank(a) - rank(b) || a.index - b.index), redacted: redactedOf(document) };
}

function graphOf(graph: Members, index: number, intents: Map<string, string>): FlowGraph {
  const id = text(graph['id']);
  const kind = text(graph['kind']);
  const nodes = list(graph['nodes']).map((it, at) => nodeOf(it, at));
  const edges = list(graph['edges']).map(edgeOf);
  return { id, kind, name: text(graph['name']) || intents.get(id) || id, entry: text(graph['entry']), nodes, edges, index };
}

function nodeOf(node: Members, index: number): FlowNode {
  const { x, y } = members(node['position']);
  const position = typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
  const id = text(node['id']) || `#${index}`;
  return { id, name: text(node['name']) || id, type: text(node['type']), disabled: node['disabled'] === true, position, index };
}

function edgeOf(edge: Members, index: number): FlowEdge {
  const port = text(edge['source_port']) || text(edge['sourceHandle']) || 'out';
  const condition = text(members(edge['condition'])['expr']);
  const label = text(edge['label']) || (condition === '' ? (port === 'out' ? '' : port) : condition);
  return { id: text(edge['id']) || `#${index}`, source: text(edge['source']), port, target: text(edge['target']), label };
}

function redactedOf(document: Members): string[] {
  const secret = new Set(list(document['entities']).flatMap((it) => (it['redact'] === true ? [text(it['id'])] : [])));
  const declared = list(document['variables']).flatMap((it) => (it['redact'] === true ? [text(it['name'])] : []));
  const captured = list(document['graphs'])
    .flatMap((it) => list(it['nodes']))
    .map((it) => members(it['data']))
    .flatMap((it) => (it['redact'] === true || secret.has(text(it['entity'])) ? [text(it['variable'])] : []));
  return [...new Set([...declared, ...captured])].filter(Boolean);
}

function list(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(members) : [];
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the graphs of a flow document for drawing; lenient, because a document is often invalid while it is edited. */
import { isProgram } from './flow-pack';

/** A node of a graph. */
export interface FlowNode {
  id: string;
  name: string;
  type: string;
  disabled: boolean;
  position: { x: number; y: number } | undefined;
  /** Its index among the nodes of its graph. */
  index: number;
}

/** An edge between two nodes of a graph. */
export interface FlowEdge {
  id: string;
  source: string;
  port: string;
  target: string;
  /** Its label, condition or port. */
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
  /** Its index among the graphs of the document. */
  index: number;
}

/** A flow document with its index in the pack. */
export interface FlowDocument {
  index: number;
  name: string;
  /** The root graph first, then intent graphs, then subflows. */
  graphs: FlowGraph[];
  /** The declared variables. */
  variables: string[];
  /** Dotted paths of variables whose values are hidden. */
  redacted: string[];
}

type Members = Record<string, unknown>;

const KINDS = ['root', 'intent', 'subflow'];

/** Parses the flow document of a pack; `undefined` where there is none. */
export function parseDocument(pack: string): FlowDocument | undefined {
  let documents: unknown;
  try {
    documents = (JSON.parse(pack) as Members)['documents'];
  } catch {
    return undefined;
  }
  const all = asList(documents);
  const index = all.findIndex(isProgram);
  const document = all[index];
  if (!document) return undefined;
  const names = new Map(asList(document['intents']).map((it) => [asText(it['graph']), asText(it['name'])]));
  // A workflow graph is one graph.
  const own = document['doc'] === 'workflow_graph' ? [{ ...document, kind: 'root', entry: workflowEntry(document) }] : asList(document['graphs']);
  const graphs = own.map((it, at) => parseGraph(it, at, names));
  const rank = (it: FlowGraph) => (KINDS.indexOf(it.kind) + KINDS.length + 1) % (KINDS.length + 1);
  return { index, name: asText(document['name']), graphs: graphs.toSorted((a, b) => rank(a) - rank(b) || a.index - b.index), variables: asList(document['variables'] ?? document['shared_state']).map((it) => asText(it['name'])).filter(Boolean), redacted: redactedPaths(document) };
}

/** The node at which a workflow graph begins: its first entry, or its root. */
function workflowEntry(document: Members): string {
  const entries = document['entries'];
  return asText(Array.isArray(entries) ? entries[0] : undefined) || asText(document['root']) || 'root_agent';
}

function parseGraph(graph: Members, index: number, intents: Map<string, string>): FlowGraph {
  const id = asText(graph['id']);
  const kind = asText(graph['kind']);
  const nodes = asList(graph['nodes']).map((it, at) => parseNode(it, at));
  const edges = asList(graph['edges']).map(parseEdge);
  return { id, kind, name: asText(graph['name']) || intents.get(id) || id, entry: asText(graph['entry']), nodes, edges, index };
}

function parseNode(node: Members, index: number): FlowNode {
  const { x, y } = asMembers(node['position']);
  const position = typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
  const id = asText(node['id']) || `#${index}`;
  return { id, name: asText(node['name']) || id, type: asText(node['type']), disabled: node['disabled'] === true, position, index };
}

function parseEdge(edge: Members, index: number): FlowEdge {
  const port = asText(edge['source_port']) || asText(edge['sourceHandle']) || 'out';
  const condition = asText(asMembers(edge['condition'])['expr']);
  const label = asText(edge['label']) || (condition === '' ? (port === 'out' ? '' : port) : condition);
  return { id: asText(edge['id']) || `#${index}`, source: asText(edge['source']), port, target: asText(edge['target']), label };
}

function redactedPaths(document: Members): string[] {
  const secret = new Set(asList(document['entities']).flatMap((it) => (it['redact'] === true ? [asText(it['id'])] : [])));
  const declared = asList(document['variables']).flatMap((it) => (it['redact'] === true ? [asText(it['name'])] : []));
  const captured = asList(document['graphs'])
    .flatMap((it) => asList(it['nodes']))
    .map((it) => asMembers(it['data']))
    .flatMap((it) => (it['redact'] === true || secret.has(asText(it['entity'])) ? [asText(it['variable'])] : []));
  return [...new Set([...declared, ...captured])].filter(Boolean);
}

function asList(value: unknown): Members[] {
  return Array.isArray(value) ? value.map(asMembers) : [];
}

function asMembers(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the graphs of the documents of a pack for drawing; lenient, because a document is often invalid while it is edited. */
import { chainGraph } from '../chain/graph';
import { asList, asMembers, asText, type Members } from './members';
import { documentId, isProgram } from './flow-pack';

/** A node of a graph, or a step of a chain. */
export interface FlowNode {
  id: string;
  name: string;
  type: string;
  disabled: boolean;
  position: { x: number; y: number } | undefined;
  /** Its index among the nodes of its graph. */
  index: number;
  /** The JSON pointer to it in its document. */
  pointer: string;
  /** The id of the document that it runs. */
  runs?: string | undefined;
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
  /** Its id, unique in the pack: graphs of documents that are run by another one begin with the id of their document. */
  id: string;
  /** Its id in its document. */
  localId: string;
  kind: string;
  name: string;
  entry: string;
  nodes: FlowNode[];
  edges: FlowEdge[];
  /** Its index among all graphs of the pack. */
  index: number;
  /** The id of its document. */
  document: string;
  /** The index of its document in the pack. */
  documentIndex: number;
  /** The kind of its document, such as `workflow_chain`. */
  doc: string;
}

/** The documents that a pack plays. */
export interface FlowDocument {
  /** The index of the document that is played in the pack. */
  index: number;
  /** Its id. */
  id: string;
  name: string;
  /** For each document the root graph first, then intent graphs, then subflows; the played document first. */
  graphs: FlowGraph[];
  /** The declared variables of all documents. */
  variables: string[];
  /** Dotted paths of variables whose values are hidden. */
  redacted: string[];
}

const KINDS = ['root', 'intent', 'subflow'];

/** Parses the documents that a pack plays; `undefined` where there is none. An assistant runs no other documents. */
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
  const isAlone = document['doc'] === 'conversation_flow';
  const others = isAlone ? [] : all.flatMap((it, at) => (at !== index && isProgram(it) ? [{ it, at }] : []));
  const played = [{ it: document, at: index }, ...others];
  const graphs = played.flatMap(({ it, at }) => documentGraphs(it, at, at === index)).map((it, at) => ({ ...it, index: at }));
  const variables = played.flatMap(({ it }) => asList(it['variables'] ?? it['shared_state']).map((variable) => asText(variable['name']))).filter(Boolean);
  const redacted = played.flatMap(({ it }) => redactedPaths(it));
  return { index, id: documentId(document), name: asText(document['name']), graphs, variables: [...new Set(variables)], redacted: [...new Set(redacted)] };
}

function documentGraphs(document: Members, documentIndex: number, isPlayed: boolean): FlowGraph[] {
  const names = new Map(asList(document['intents']).map((it) => [asText(it['graph']), asText(it['name'])]));
  const rank = (it: FlowGraph) => (KINDS.indexOf(it.kind) + KINDS.length + 1) % (KINDS.length + 1);
  const owner = documentId(document);
  const place = { document: owner, documentIndex, doc: asText(document['doc']) };
  const found = ownGraphs(document, names).map((it) => ({ ...it, ...place }));
  const sorted = found.toSorted((a, b) => rank(a) - rank(b) || a.index - b.index);
  if (isPlayed) return sorted;
  const title = asText(document['name']) || owner;
  return sorted.map((it) => ({ ...it, id: graphKey(owner, it.localId), name: it.kind === 'root' ? title : `${title}: ${it.name}` }));
}

/** The unique id of a graph of a document that is run by another one. */
export function graphKey(document: string, graph: string): string {
  return `${document}:${graph}`;
}

/** A graph without its document. */
export type OwnGraph = Omit<FlowGraph, 'document' | 'documentIndex' | 'doc'>;

/** A workflow graph and a chain are one graph each. */
function ownGraphs(document: Members, names: Map<string, string>): OwnGraph[] {
  if (document['doc'] === 'workflow_chain') return [chainGraph(document)];
  if (document['doc'] === 'workflow_graph') return [parseGraph({ ...document, kind: 'root', entry: workflowEntry(document) }, 0, names, '')];
  return asList(document['graphs']).map((it, at) => parseGraph(it, at, names, `/graphs/${at}`));
}

/** The node at which a workflow graph begins: its first entry, or its root. */
function workflowEntry(document: Members): string {
  const entries = document['entries'];
  return asText(Array.isArray(entries) ? entries[0] : undefined) || asText(document['root']) || 'root_agent';
}

function parseGraph(graph: Members, index: number, intents: Map<string, string>, pointer: string): OwnGraph {
  const id = asText(graph['id']);
  const kind = asText(graph['kind']);
  const nodes = asList(graph['nodes']).map((it, at) => parseNode(it, at, `${pointer}/nodes/${at}`));
  const edges = asList(graph['edges']).map(parseEdge);
  return { id, localId: id, kind, name: asText(graph['name']) || intents.get(id) || id, entry: asText(graph['entry']), nodes, edges, index };
}

function parseNode(node: Members, index: number, pointer: string): FlowNode {
  const { x, y } = asMembers(node['position']);
  const position = typeof x === 'number' && typeof y === 'number' ? { x, y } : undefined;
  const id = asText(node['id']) || `#${index}`;
  const data = asMembers(node['data']);
  const runs = asText(data['assistant_id']) || asText(data['workflow_id']) || asText(data['agent_id']) || undefined;
  return { id, name: asText(node['name']) || id, type: asText(node['type']), disabled: node['disabled'] === true, position, index, pointer, runs };
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
  return [...declared, ...captured].filter(Boolean);
}

/** Reads and writes the data of a node in the text of a pack; all other text stays as its author wrote it. */
import { spans, type Span } from '../json-text';
import { put } from '../pack/layout';
import { addMember } from '../pack/rows';
import type { FlowDocument } from './graph';

/** A node by its places: of the document, of the graph, of the node. */
export interface NodePlace {
  document: number;
  graph: number;
  node: number;
}

/** Finds a node by its graph and id. */
export function placeOf(document: FlowDocument, graph: string, node: string): NodePlace | undefined {
  const found = document.graphs.find((it) => it.id === graph);
  const at = found?.nodes.find((it) => it.id === node);
  return found && at && { document: document.index, graph: found.index, node: at.index };
}

/** The span of a node in the text of a pack. */
export function nodeSpan(text: string, { document, graph, node }: NodePlace): Span | undefined {
  const of = spans(text).members?.get('documents')?.elements?.[document];
  return of?.members?.get('graphs')?.elements?.[graph]?.members?.get('nodes')?.elements?.[node];
}

/** The data of a node as it is written, moved to the left edge; what stands on one long line is written out. */
export function dataText(text: string, place: NodePlace): string {
  const data = nodeSpan(text, place)?.members?.get('data');
  if (!data) return '{}';
  const json = text.slice(data.start, data.end);
  if (!json.includes('\n')) return json.length > 60 ? spread(json) : json;
  const indent = indentAt(text, data.start);
  return json.replaceAll(`\n${indent}`, '\n');
}

/** Writes other data into a node; throws a `JsonFault` for what is no JSON. */
export function withData(text: string, place: NodePlace, json: string): string {
  if (!spans(json).members) throw new Error('the data of a node is a JSON object: write it as {…}');
  const node = nodeSpan(text, place);
  if (!node?.members) throw new Error('the node is not there any more');
  const data = node.members.get('data');
  const indent = indentAt(text, (data ?? node).start);
  const written = json.trim().replaceAll('\n', `\n${indent}`);
  return data ? put(text, data.start, data.end, written) : addMember(text, node, 'data', written);
}

/** What the line begins with on which something stands. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
}

/** Writes an object out over lines, its parts as they are spelled. */
function spread(json: string): string {
  const write = (span: Span, indent: string): string => {
    const parts = span.members
      ? [...span.members].map(([key, it]) => `${JSON.stringify(key)}: ${write(it, `${indent}  `)}`)
      : span.elements?.map((it) => write(it, `${indent}  `));
    const whole = json.slice(span.start, span.end);
    if (!parts || parts.length === 0 || whole.length <= 60) return whole;
    const [open, close] = span.members ? '{}' : '[]';
    return `${open}\n${parts.map((it) => `${indent}  ${it}`).join(',\n')}\n${indent}${close}`;
  };
  return write(spans(json), '');
}

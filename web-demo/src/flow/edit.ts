/** Reads and writes a node's data in the text of a pack and preserves all other text. */
import { parseSpans, type Span } from '../json-text';
import { replaceRange } from '../pack/layout';
import { addMember } from '../pack/rows';
import type { FlowDocument } from './graph';

/** Where the data of a node is: the index of its document, the pointer to the node, and the member with its data. */
export interface NodePlace {
  document: number;
  pointer: string;
  member: 'data' | 'config';
}

/** Finds a node by its graph and id. Steps of chains keep their data in `config`. */
export function findNodePlace(document: FlowDocument, graph: string, node: string): NodePlace | undefined {
  const found = document.graphs.find((it) => it.id === graph);
  const at = found?.nodes.find((it) => it.id === node);
  return found && at && { document: found.documentIndex, pointer: at.pointer, member: found.kind === 'chain' ? 'config' : 'data' };
}

/** The span of a node in the text of a pack. */
export function findNodeSpan(text: string, { document, pointer }: NodePlace): Span | undefined {
  let span = parseSpans(text).members?.get('documents')?.elements?.[document];
  for (const name of pointer.split('/').slice(1)) span = span?.members?.get(name) ?? span?.elements?.[Number(name)];
  return span;
}

/** The data of a node, unindented; a long single line is expanded. */
export function readNodeData(text: string, place: NodePlace): string {
  const data = findNodeSpan(text, place)?.members?.get(place.member);
  if (!data) return '{}';
  const json = text.slice(data.start, data.end);
  if (!json.includes('\n')) return json.length > 60 ? expandJson(json) : json;
  const indent = lineIndent(text, data.start);
  return json.replaceAll(`\n${indent}`, '\n');
}

/** Replaces a node's data; throws a `JsonSyntaxError` for invalid JSON. */
export function writeNodeData(text: string, place: NodePlace, json: string): string {
  if (!parseSpans(json).members) throw new Error('node data must be a JSON object');
  const node = findNodeSpan(text, place);
  if (!node?.members) throw new Error('the node no longer exists');
  const data = node.members.get(place.member);
  const indent = lineIndent(text, (data ?? node).start);
  const written = json.trim().replaceAll('\n', `\n${indent}`);
  return data ? replaceRange(text, data.start, data.end, written) : addMember(text, node, place.member, written);
}

/** The indentation of the line at an offset. */
function lineIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';
}

/** Expands JSON over several lines and keeps the spelling of its values. */
function expandJson(json: string): string {
  const write = (span: Span, indent: string): string => {
    const parts = span.members
      ? [...span.members].map(([key, it]) => `${JSON.stringify(key)}: ${write(it, `${indent}  `)}`)
      : span.elements?.map((it) => write(it, `${indent}  `));
    const whole = json.slice(span.start, span.end);
    if (!parts || parts.length === 0 || whole.length <= 60) return whole;
    const [open, close] = span.members ? '{}' : '[]';
    return `${open}\n${parts.map((it) => `${indent}  ${it}`).join(',\n')}\n${indent}${close}`;
  };
  return write(parseSpans(json), '');
}

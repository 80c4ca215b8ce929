/** Forms for the data of nodes, beside their JSON. */
import { parseSpans, type Span } from '../json-text';
import { inlineStyle, removePart, replaceRange } from '../pack/layout';
import { addMember } from '../pack/rows';
import type { Json, JsonObject } from '../types';

/** How a field is edited. */
export type FieldKind = 'line' | 'text' | 'code' | 'number' | 'flag' | 'list';

/** A field of a form. An absent member has the default of the document format. */
export interface Field {
  path: [string] | [string, string];
  label: string;
  kind: FieldKind;
  hint?: string;
  /** The value of an absent member. */
  default?: Json;
  /** The values to choose from; several of them for a list. */
  choices?: [value: string, label: string][];
}

/** The forms by node type; other types are edited as JSON alone. */
export const NODE_FORMS: Record<string, Field[]> = {
  python: [
    { path: ['code'], label: 'Code', kind: 'code', hint: 'Reads session, event, params, now and seed; may set branch, message and result, and print.' },
    { path: ['branches'], label: 'Branches', kind: 'list', hint: 'Separated by commas; each is a port that the script chooses with branch = "…".' },
    { path: ['inputs'], label: 'Inputs', kind: 'list', hint: 'Variables that the script sees; all when empty.' },
    { path: ['outputs'], label: 'Outputs', kind: 'list', hint: 'Variables that it may change; all when empty.' },
    { path: ['timeout_ms'], label: 'Time limit in ms', kind: 'number', hint: '10 to 30,000' },
  ],
  knowledge: [
    {
      path: ['query', 'from'],
      label: 'Query from',
      kind: 'list',
      choices: [
        ['last_user', 'Last message'],
        ['summary', 'Summary of the conversation'],
        ['template', 'Template'],
      ],
    },
    { path: ['query', 'template'], label: 'Query template', kind: 'line' },
    { path: ['sources'], label: 'Sources', kind: 'list', hint: 'Ids, separated by commas; those of the intent, else all, when empty.' },
    { path: ['top_k'], label: 'Passages', kind: 'number', default: 5, hint: '1 to 50' },
    { path: ['min_score'], label: 'Least confidence', kind: 'number', hint: '0 to 1; below it nothing is found.' },
    { path: ['vector_weight'], label: 'Weight of vectors', kind: 'number', default: 0.5, hint: '0 to 1' },
    { path: ['synthesize'], label: 'A model writes the answer', kind: 'flag', default: true },
    { path: ['instructions'], label: 'Instructions for the answer', kind: 'text' },
    {
      path: ['citations'],
      label: 'Citations',
      kind: 'line',
      default: 'inline',
      choices: [
        ['inline', 'Inline numbers'],
        ['list', 'List of sources'],
        ['none', 'None'],
      ],
    },
    { path: ['reply'], label: 'Send the answer', kind: 'flag', default: true },
    { path: ['variable'], label: 'Variable', kind: 'line', default: 'knowledge' },
  ],
  handoff: [
    { path: ['message'], label: 'Message to the user', kind: 'text' },
    { path: ['queue'], label: 'Queue', kind: 'line' },
    { path: ['reason'], label: 'Reason', kind: 'line' },
    {
      path: ['mode'],
      label: 'Afterwards',
      kind: 'line',
      default: 'transfer',
      choices: [
        ['transfer', 'The session ends'],
        ['return', 'The assistant continues'],
      ],
    },
    { path: ['context'], label: 'Variables for the desk', kind: 'list', hint: 'Separated by commas' },
    { path: ['transcript_turns'], label: 'Turns of the transcript', kind: 'number', default: 50 },
    { path: ['wait_ms'], label: 'Wait for a person in ms', kind: 'number', hint: 'Then it leaves through timeout; without a limit when empty.' },
  ],
};

/** Reads a field; `undefined` for an absent member or data that is not JSON. */
export function readField(data: string, [key, inner]: Field['path']): Json | undefined {
  try {
    const value = (JSON.parse(data) as JsonObject)[key];
    if (inner === undefined) return value;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value[inner] : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a field and leaves all other text unchanged; `undefined` removes the member. */
export function writeField(data: string, [key, inner]: Field['path'], value: Json | undefined): string {
  const root = parseSpans(data);
  if (inner === undefined) return setMember(data, root, key, value === undefined ? undefined : formatValue(value));
  const owner = root.members?.get(key);
  if (owner?.members) return setMember(data, owner, inner, value === undefined ? undefined : formatValue(value));
  return value === undefined ? data : setMember(data, root, key, formatValue({ [inner]: value }));
}

/** Splits the items of a typed list. */
export function parseList(typed: string): string[] {
  return typed.split(',').map((it) => it.trim()).filter(Boolean);
}

/** Whether a form can edit a value; others, such as localized texts, are edited as JSON. */
export function isEditable({ kind }: Field, value: Json | undefined): boolean {
  if (value === undefined) return true;
  if (kind === 'list') return Array.isArray(value) && value.every((it) => typeof it === 'string');
  if (kind === 'flag') return typeof value === 'boolean';
  return typeof value === (kind === 'number' ? 'number' : 'string');
}

function setMember(text: string, object: Span, key: string, json: string | undefined): string {
  const old = object.members?.get(key);
  if (json !== undefined) return old ? replaceRange(text, old.start, old.end, json) : addMember(text, object, key, json, inlineStyle(text));
  if (!old || !object.members) return text;
  const members = [...object.members.values()].map((it) => ({ start: it.key?.start ?? it.start, end: it.end }));
  return removePart(text, object, members, [...object.members.keys()].indexOf(key));
}

/** Formats a value in one line, as documents are written. */
function formatValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, it]) => `${JSON.stringify(key)}: ${formatValue(it)}`).join(', ')}}`;
}

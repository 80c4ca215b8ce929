/** Forms for the data of nodes, beside their JSON: what the engine's schema of a document says of each member. */
import { asObject, propertiesOf } from '../answer/schema';
import { parseSpans, type Span } from '../json-text';
import { inlineStyle, removePart, replaceRange } from '../pack/layout';
import { addMember } from '../pack/rows';
import type { Json, JsonObject } from '../types';
import { asText, asTexts } from './members';

/** How a field is edited. */
export type FieldKind = 'line' | 'text' | 'code' | 'number' | 'flag' | 'list';

/** A field of a form, as the schema of the document describes it. */
export interface Field {
  path: string[];
  label: string;
  kind: FieldKind;
  /** What it is, with code in backticks. */
  hint: string;
  /** The value of an absent member. */
  default: Json | undefined;
  /** The values to choose from; several of them for a list. */
  choices: [value: string, label: string][] | undefined;
  /** Whether it may be left out. */
  optional: boolean;
  /** The member beside it and the value of that member for which it matters. */
  shownIf: { path: string[]; value: Json | undefined; default: Json | undefined } | undefined;
}

/** Where schemas describe nodes and steps, by kind of documents: the definition, the member with the type, and that with the data. */
const NODES: Record<string, [definition: string, tag: string, data: string]> = {
  conversation_flow: ['Node', 'type', 'data'],
  workflow_graph: ['WorkflowNode', 'type', 'data'],
  workflow_chain: ['ChainStep', 'kind', 'config'],
};

const schemas = new Map<string, Promise<JsonObject>>();

/** Loads the fields for the data of a type of nodes; the schema of a kind of documents is loaded once. */
export async function loadFields(client: { documentSchema(doc: string): Promise<JsonObject> }, doc: string, type: string): Promise<Field[]> {
  const loading = schemas.get(doc) ?? client.documentSchema(doc);
  schemas.set(doc, loading);
  loading.catch(() => schemas.delete(doc));
  return nodeFields(await loading, doc, type);
}

/** Lists the fields for the data of a type of nodes. Members that are neither a value nor a list of words are edited as JSON alone. */
export function nodeFields(schema: JsonObject, doc: string, type: string): Field[] {
  const [definition, tag, data] = NODES[doc] ?? ['', '', ''];
  const definitions = asObject(schema['$defs']);
  const kinds = asObject(definitions[definition])['oneOf'];
  const properties = (Array.isArray(kinds) ? kinds : []).map((it) => asObject(asObject(it)['properties']));
  const kind = properties.find((it) => asObject(it[tag])['const'] === type);
  return kind ? objectFields(asObject(kind[data]), definitions, [], '') : [];
}

function objectFields(object: JsonObject, definitions: JsonObject, above: string[], titleAbove: string): Field[] {
  const members = propertiesOf(object);
  return members.flatMap(({ name, schema, required }) => {
    const path = [...above, name];
    const own = asText(schema['title']);
    const label = titleAbove ? `${titleAbove} ${own.toLowerCase()}` : own;
    if (schema['properties'] !== undefined && schema['oneOf'] === undefined) return objectFields(schema, definitions, path, label);
    const edited = fieldKind(schema, definitions);
    if (!edited) return [];
    const [condition] = Object.entries(asObject(schema['x-shown-if']));
    const beside = members.find((it) => it.name === condition?.[0]);
    const shownIf = condition && { path: [...above, condition[0]], value: condition[1], default: beside?.schema['default'] };
    return [{ path, label, ...edited, hint: hintOf(schema, edited), default: schema['default'], optional: !required, shownIf }];
  });
}

/** How a member is edited; `undefined` for one that only JSON can show. */
function fieldKind(schema: JsonObject, definitions: JsonObject): Pick<Field, 'kind' | 'choices'> | undefined {
  const choices = labelledChoices(schema);
  if (choices) return { kind: 'line', choices };
  const items = asObject(schema['items']);
  switch (schema['type']) {
    case 'boolean':
      // Absent is a third value where there is no default.
      return schema['default'] === undefined ? undefined : { kind: 'flag', choices };
    case 'integer':
    case 'number':
      return { kind: 'number', choices };
    case 'array':
      // Items that are texts for people may hold commas.
      return items['type'] === 'string' || items['enum'] !== undefined ? { kind: 'list', choices: labelledChoices(items) } : undefined;
    case 'string':
      return { kind: schema['x-meaning'] === 'script' ? 'code' : schema['x-multiline'] === true ? 'text' : 'line', choices };
  }
  const inner = definitions[asText(schema['$ref']).replace('#/$defs/', '')];
  if (inner !== undefined) return fieldKind({ ...asObject(inner), ...schema, $ref: '' }, definitions);
  // A text in one language, where it may be one in several.
  const forms = schema['anyOf'];
  const first = Array.isArray(forms) && fieldKind(asObject(forms[0]), definitions);
  return first && first.kind === 'line' ? { kind: 'text', choices } : undefined;
}

function labelledChoices(schema: JsonObject): Field['choices'] {
  if (!Array.isArray(schema['enum'])) return undefined;
  const labels = asTexts(schema['enumDescriptions']);
  return asTexts(schema['enum']).map((word, index) => [word, labels[index]?.replace(/\.$/, '') ?? word]);
}

function hintOf(schema: JsonObject, { kind, choices }: Pick<Field, 'kind' | 'choices'>): string {
  const { minimum, maximum } = schema;
  const number = (it: Json | undefined) => (typeof it === 'number' && Math.abs(it) < Number.MAX_SAFE_INTEGER ? it.toLocaleString('en') : '');
  const range = number(minimum) && number(maximum) ? `${number(minimum)} to ${number(maximum)}.` : '';
  return [asText(schema['description']), range, kind === 'list' && !choices ? 'Separated by commas.' : ''].filter(Boolean).join(' ');
}

/** Whether a field matters, or has a value although it does not. */
export function isShown({ path, shownIf }: Field, data: string): boolean {
  return !shownIf || readField(data, path) !== undefined || (readField(data, shownIf.path) ?? shownIf.default) === shownIf.value;
}

/** Reads a field; `undefined` for an absent member or data that is not JSON. */
export function readField(data: string, path: string[]): Json | undefined {
  try {
    return path.reduce<Json | undefined>((value, key) => (isObject(value) ? value[key] : undefined), JSON.parse(data) as Json);
  } catch {
    return undefined;
  }
}

/** Writes a field and leaves all other text unchanged; `undefined` removes the member. */
export function writeField(data: string, path: string[], value: Json | undefined): string {
  let owner = parseSpans(data);
  let [key = '', ...inner] = path;
  for (let next = owner.members?.get(key); inner[0] !== undefined && next?.members; next = owner.members?.get(key)) {
    owner = next;
    [key = '', ...inner] = inner;
  }
  if (value === undefined) return inner.length === 0 ? setMember(data, owner, key, undefined) : data;
  return setMember(data, owner, key, formatValue(inner.reduceRight<Json>((within, name) => ({ [name]: within }), value)));
}

/** Splits the items of a typed list. */
export function parseList(typed: string): string[] {
  return typed.split(',').map((it) => it.trim()).filter(Boolean);
}

/** Whether a form can edit a value; others, such as localized texts, are edited as JSON. */
export function isEditable({ kind, choices }: Field, value: Json | undefined): boolean {
  if (value === undefined) return true;
  if (kind === 'list') return Array.isArray(value) && value.every((it) => typeof it === 'string' && (choices !== undefined || !it.includes(',')));
  if (kind === 'flag') return typeof value === 'boolean';
  return typeof value === (kind === 'number' ? 'number' : 'string');
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

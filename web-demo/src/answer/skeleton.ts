/** Manual answers: their initial text and their validation. */
import { JsonSyntaxError, position, parseSpans } from '../json-text';
import type { Json, JsonObject } from '../types';
import { buildValue, choicesOf, matchesSchema, asObject, propertiesOf, typesOf } from './schema';

/** The parts of an `llm` request that an answer depends on. */
export interface LlmRequestJson {
  purpose: string;
  mode: 'text' | 'json' | 'json_strict';
  system: string;
  user: string;
  hint?: string;
  schema?: Json;
  context: Json;
  user_text: string;
}

/** The initial answer where the request has no schema. */
const INTENT_SKELETON = {
  intent: null,
  state: null,
  confidence: 0.9,
  needsClarification: false,
  clarificationQuestion: null,
  intentScores: [],
  followups: [],
};

/** Returns the initial text of a manual answer, which is valid as it is. */
export function skeleton(request: LlmRequestJson): string {
  if (request.mode === 'text') return '';
  if (request.purpose === 'intent_agent') return formatJson(INTENT_SKELETON);
  const schema = asObject(request.schema);
  // Nulls, so that sending the initial text changes nothing.
  if (request.purpose === 'schema_extraction') return formatJson(Object.fromEntries(propertiesOf(schema).map((it) => [it.name, null])));
  const object = typesOf(schema).length > 0 || choicesOf(schema).length > 0 ? schema : { ...schema, type: 'object' };
  return formatJson(buildValue(object, () => undefined));
}

/** Validates an answer; returns the problem, or an empty text. */
export function findProblem(request: LlmRequestJson, text: string): string {
  if (request.mode === 'text') return '';
  const json = stripFence(text);
  try {
    parseSpans(json);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { line, column } = position(json, error.offset);
    return `line ${line}, column ${column}: ${error.message}`;
  }
  const value = JSON.parse(json) as Json;
  if (request.purpose === 'intent_agent') return matchesSchema(value, { type: 'object' }) ? '' : 'write a JSON object: {…}';
  return findMismatch(value, asObject(request.schema), '', request.purpose === 'schema_extraction');
}

/** Compares a value and its members with a schema; returns the first mismatch. */
function findMismatch(value: Json, schema: JsonObject, path: string, partial: boolean): string {
  if (partial && value === null && path !== '') return '';
  const name = path === '' ? 'the answer' : `'${path}'`;
  if (!matchesSchema(value, schema)) {
    const chosen = choicesOf(schema);
    if (chosen.length > 0) return `${name} must be one of ${chosen.map((it) => JSON.stringify(it)).join(', ')}`;
    return `${name} must be of type ${typesOf(schema).join(' or ')}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
  const all = propertiesOf(schema);
  const within = (member: string) => (path === '' ? member : `${path}.${member}`);
  const missing = partial ? undefined : all.find((it) => it.required && !Object.hasOwn(value, it.name));
  if (missing) return `'${within(missing.name)}' is missing`;
  const known = all.map((it) => it.name);
  const surplus = schema['additionalProperties'] === false ? Object.keys(value).find((it) => !known.includes(it)) : undefined;
  if (surplus !== undefined) return `unexpected member '${within(surplus)}': use ${known.join(', ')}`;
  for (const it of all) {
    const member = Object.hasOwn(value, it.name) ? value[it.name] : undefined;
    const fault = member === undefined ? '' : findMismatch(member, it.schema, within(it.name), partial);
    if (fault) return fault;
  }
  return '';
}

/** Removes a Markdown code fence around JSON, as the engine does. */
function stripFence(text: string): string {
  return /^\s*```(?:json)?([^]*)```\s*$/i.exec(text)?.[1] ?? text;
}

function formatJson(value: Json): string {
  return JSON.stringify(value, null, 2);
}

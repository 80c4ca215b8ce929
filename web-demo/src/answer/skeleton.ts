/** Answers that people write by hand: what to begin with, and what is wrong with them. */
import { JsonFault, position, spans } from '../json-text';
import type { Json, JsonObject } from '../types';
import { built, choices, fits, objectOf, properties, types } from './schema';

/** The request of an effect `llm`, as far as an answer depends on it. */
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

/** What the model is asked for where the request has no schema. */
const INTENT = {
  intent: null,
  state: null,
  confidence: 0.9,
  needsClarification: false,
  clarificationQuestion: null,
  intentScores: [],
  followups: [],
};

/** Writes the text that a hand-written answer begins with: it is valid as it stands. */
export function skeleton(request: LlmRequestJson): string {
  if (request.mode === 'text') return '';
  if (request.purpose === 'intent_agent') return pretty(INTENT);
  const schema = objectOf(request.schema);
  // Nothing says less than null, so that an answer that is sent as it stands changes nothing.
  if (request.purpose === 'schema_extraction') return pretty(Object.fromEntries(properties(schema).map((it) => [it.name, null])));
  const object = types(schema).length > 0 || choices(schema).length > 0 ? schema : { ...schema, type: 'object' };
  return pretty(built(object, () => undefined));
}

/** Says what is wrong with an answer; empty when nothing is. */
export function problem(request: LlmRequestJson, text: string): string {
  if (request.mode === 'text') return '';
  const json = unfenced(text);
  try {
    spans(json);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const { line, column } = position(json, error.offset);
    return `line ${line}, column ${column}: ${error.message}`;
  }
  const value = JSON.parse(json) as Json;
  if (request.purpose === 'intent_agent') return fits(value, { type: 'object' }) ? '' : 'write a JSON object: {…}';
  return lack(value, objectOf(request.schema), '', request.purpose === 'schema_extraction');
}

/** Looks at an object and at the objects within it. */
function lack(value: Json, schema: JsonObject, path: string, partial: boolean): string {
  if (partial && value === null && path !== '') return '';
  const name = path === '' ? 'the answer' : `'${path}'`;
  if (!fits(value, schema)) {
    const chosen = choices(schema);
    if (chosen.length > 0) return `${name} is none of ${chosen.map((it) => JSON.stringify(it)).join(', ')}`;
    return `${name} is no ${types(schema).join(' or ')}`;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
  const all = properties(schema);
  const within = (member: string) => (path === '' ? member : `${path}.${member}`);
  const missing = partial ? undefined : all.find((it) => it.required && !Object.hasOwn(value, it.name));
  if (missing) return `'${within(missing.name)}' is missing`;
  const known = all.map((it) => it.name);
  const surplus = schema['additionalProperties'] === false ? Object.keys(value).find((it) => !known.includes(it)) : undefined;
  if (surplus !== undefined) return `'${within(surplus)}' is not asked for: use ${known.join(', ')}`;
  for (const it of all) {
    const member = Object.hasOwn(value, it.name) ? value[it.name] : undefined;
    const fault = member === undefined ? '' : lack(member, it.schema, within(it.name), partial);
    if (fault) return fault;
  }
  return '';
}

/** Models like to put a fence around JSON; the engine takes it off. */
function unfenced(text: string): string {
  return /^\s*```(?:json)?([^]*)```\s*$/i.exec(text)?.[1] ?? text;
}

function pretty(value: Json): string {
  return JSON.stringify(value, null, 2);
}

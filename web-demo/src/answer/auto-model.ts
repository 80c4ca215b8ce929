/**
 * Answers in place of a model, so that a first minute needs no key.
 *
 * It knows words and patterns, not meaning, and the same request always has the same answer.
 */
import type { Json, JsonObject } from '../types';
import { extract } from './extract';
import { built, choices, objectOf, properties, types, type Property } from './schema';
import type { LlmRequestJson } from './skeleton';
import { contentWords, listed, spoken } from './words';

export { problem, skeleton, type LlmRequestJson } from './skeleton';

/** The rows of a pack by table. */
export type Tables = Record<string, JsonObject[]>;

/** Answers a request of the purpose that it has. */
export function stub(request: LlmRequestJson, tables: Tables): { text: string } {
  const answer = request.mode === 'text' ? spokenAnswer(request, tables) : jsonAnswer(request, tables);
  return { text: typeof answer === 'string' ? answer : JSON.stringify(answer) };
}

function jsonAnswer(request: LlmRequestJson, tables: Tables): Json {
  const schema = objectOf(request.schema);
  const context = objectOf(request.context);
  switch (request.purpose) {
    case 'dialogue_act':
      return act(request, schema, context);
    case 'intent_agent':
      return intent(request.user_text, tables);
    case 'schema_extraction':
      return extract(schema, request.user_text, context, isHeld(context));
    case 'mcp_plan':
      return plan(request, schema, context, tables);
    case 'policy':
      return { match: forbids(request) };
    case 'sql_repair':
      return { sql: '' };
    default:
      return shape(request, schema, context, tables);
  }
}

const ACTS: [name: string, pattern: RegExp][] = [
  ['RESET', /^(reset|restart|start (over|again)|begin again)\b/],
  ['EDIT', /^(no,? )?(please )?(can you )?(change|correct|make it|make the|set|update|modify|revise|edit)\b|\binstead\b|\b(change|correct|set)\b.* to\b/],
  ['AFFIRM', /^(yes|yep|yeah|ok|okay|sure|correct|right|exactly|go ahead|do (it|that)|please do|confirm\w*|approved?|agreed)\b|\b(go ahead|(looks|sounds) good|that('s| is) right)\b/],
  ['NEGATE', /^(no|nope|nah|cancel|stop|don't|do not|never ?mind|leave it)\b/],
  ['GREETING', /^(hi|hello|hey|howdy|greetings|good (morning|afternoon|evening|day))( there)?\W*$/],
  ['QUESTION', /\?\s*$|^(what|how|when|where|why|who|which|is there|are there|do you|can i)\b/],
];

function act(request: LlmRequestJson, schema: JsonObject, context: JsonObject): Json {
  const text = request.user_text.trim().toLowerCase();
  const [named] = ACTS.find(([, pattern]) => pattern.test(text)) ?? [];
  const dialogueAct = named ?? (isHeld(context) && text.length <= 160 ? 'ANSWER' : 'NEW_REQUEST');
  const rewrites = properties(schema).some((it) => it.name === 'standaloneQuery');
  return { dialogueAct, confidence: named ? 0.9 : 0.75, ...(rewrites ? { standaloneQuery: '' } : {}) };
}

/** Whether a question is open, or values are collected. */
function isHeld(context: JsonObject): boolean {
  return objectOf(context['intent_lock'])['locked'] === true || Boolean(objectOf(context['pending_clarification'])['question']);
}

function intent(text: string, tables: Tables): Json {
  const said = [...new Set(contentWords(text))];
  const scored = enabled(tables, 'ce_intent')
    .map((row) => ({ code: string(row['intent_code']), weight: overlap(said, row, tables) }))
    .filter((it) => it.weight > 0 && it.code.toUpperCase() !== 'UNKNOWN')
    .sort((a, b) => b.weight - a.weight);
  const [best] = scored;
  if (!best) return { intent: null, state: null, confidence: 0.2, needsClarification: false, intentScores: [] };
  // One that fits less well stays clear of the distance at which two of them collide.
  const score = (weight: number) => (weight === best.weight ? 0.9 : Math.round((70 * weight) / best.weight) / 100);
  return {
    intent: best.code,
    // Without a state the question that was open would stay open.
    state: firstState(best.code, tables) ?? 'UNKNOWN',
    confidence: 0.9,
    needsClarification: false,
    intentScores: scored.map((it) => ({ intent: it.code, confidence: score(it.weight) })),
  };
}

/** Words of the code and of the patterns count twice: people use them. */
function overlap(said: string[], row: JsonObject, tables: Tables): number {
  const code = string(row['intent_code']);
  const patterns = enabled(tables, 'ce_intent_classifier').filter((it) => it['intent_code'] === code);
  const strong = contentWords(`${spoken(code)} ${patterns.map((it) => string(it['pattern']).replace(/\\[a-z]/gi, ' ')).join(' ')}`);
  const weak = contentWords(['display_name', 'description', 'llm_hint'].map((it) => string(row[it])).join(' '));
  return said.reduce((sum, it) => sum + (strong.includes(it) ? 2 : weak.includes(it) ? 1 : 0), 0);
}

/** Where an intent begins, as far as its rows tell. */
function firstState(code: string, tables: Tables): string | null {
  const own = ['ce_intent_classifier', 'ce_output_schema', 'ce_response'].flatMap((it) => enabled(tables, it));
  const states = own.filter((it) => it['intent_code'] === code).map((it) => string(it['state_code']));
  return states.find((it) => it !== '' && it !== 'ANY' && it !== 'UNKNOWN') ?? null;
}

function plan(request: LlmRequestJson, schema: JsonObject, context: JsonObject, tables: Tables): Json {
  const codes = choices(objectOf(objectOf(schema['properties'])['tool_code'])).filter((it) => typeof it === 'string');
  const seen = observations(context);
  const answer = (text: string): Json => ({ action: 'ANSWER', tool_code: null, args: {}, answer: text, operation_tag: null });
  const next = codes.find((code) => !seen.some((it) => it.tool.toLowerCase() === code.toLowerCase()));
  if (next === undefined) return answer(seen.length > 0 ? findings(seen) : 'There is nothing here to look that up with');
  const { given, missing } = args(next, request, context, tables);
  if (missing.length > 0) return answer(`Please tell me ${listed(missing.map((it) => described(it, tables)))}`);
  return { action: 'CALL_TOOL', tool_code: next, args: given, answer: null, operation_tag: null };
}

/** What is known of a tool's arguments; all that is known where nobody says what it takes. */
function args(tool: string, request: LlmRequestJson, context: JsonObject, tables: Tables): { given: JsonObject; missing: string[] } {
  const known = values(context);
  const row = enabled(tables, 'ce_mcp_tool').find((it) => it['tool_code'] === tool);
  const own = (table: string) => enabled(tables, table).find((it) => it['tool_id'] === row?.['tool_id']);
  const wanted = objectOf(own('cv_tool_spec')?.['input_schema'] ?? own('ce_mcp_db_tool')?.['param_schema']);
  const all = properties(wanted);
  if (all.length === 0) return { given: known, missing: [] };
  const said = extract(wanted, request.user_text, known, false);
  const text = (name: string) => (/query|question|text|message|search/i.test(name) ? request.user_text : undefined);
  const find = (name: string) => said[name] ?? known[name] ?? text(name);
  const sayable = (it: Property) => choices(it.schema).length > 0 || it.schema['default'] !== undefined || types(it.schema)[0] === 'boolean';
  const given = all.filter((it) => find(it.name) !== undefined || (it.required && sayable(it)));
  return {
    given: Object.fromEntries(given.map((it) => [it.name, built(it.schema, find, it.name)])),
    missing: all.filter((it) => it.required && !given.includes(it)).map((it) => it.name),
  };
}

function forbids({ user }: LlmRequestJson): boolean {
  const [, rule = '', message = ''] = /The rule:\n([^]*?)\n\nThe message:\n([^]*)$/.exec(user) ?? [];
  const said = contentWords(message);
  const words = [...new Set(contentWords(rule))];
  const hits = words.filter((it) => said.includes(it)).length;
  return hits >= 2 && hits * 2 >= words.length;
}

/** A value by the schema, filled from what is known; without a schema, what there is to say. */
function shape(request: LlmRequestJson, schema: JsonObject, context: JsonObject, tables: Tables): Json {
  const known = values(context);
  if (types(schema).length === 0) return { ...known, message: sentence(request, context, tables) };
  const said = extract(schema, request.user_text, known, false);
  return built(schema, (name, it) => {
    const prose = /^(answer|message|text|reply|response|summary|description|content)$/i.test(name) && types(it).includes('string');
    return said[name] ?? known[name] ?? (prose ? sentence(request, context, tables) : undefined);
  });
}

function spokenAnswer(request: LlmRequestJson, tables: Tables): string {
  const context = objectOf(request.context);
  switch (request.purpose) {
    // The engine has a question of its own when the model has none.
    case 'disambiguation':
      return '';
    case 'intent_collision': {
      const names = enabled(tables, 'ce_intent').filter((it) => request.user.includes(JSON.stringify(it['intent_code'])));
      const said = names.slice(0, 3).map((it) => string(it['display_name']) || spoken(string(it['intent_code'])));
      return said.length > 1 ? `Did you mean ${listed(said, 'or')}?` : 'Could you say in other words what you would like?';
    }
    case 'memory_summary':
      return `The customer wrote: ${request.user_text}`;
    default:
      return sentence(request, context, tables);
  }
}

/** Says what the prompt gives to say: what is missing, what was found, what is known. */
function sentence(request: LlmRequestJson, context: JsonObject, tables: Tables): string {
  const named = missingIn(request.user);
  const missing = named.length > 0 || objectOf(context['intent_lock'])['locked'] !== true ? named : open(context, tables);
  const known = Object.entries(values(context)).map(([name, value]) => `${spoken(name)} ${String(value)}`);
  const noted = known.length > 0 ? `I have noted ${listed(known)}. ` : '';
  if (missing.length > 0) return `${noted}Please tell me ${listed(missing.map((it) => described(it, tables)))}.`;
  const seen = observations(context);
  if (seen.length > 0) return `${findings(seen)}.`;
  if (noted) return `${noted}What would you like to do next?`;
  return request.user_text ? `You wrote: ${request.user_text}. A model would answer that here.` : 'A model would answer here.';
}

/** The list that stands behind the word missing. */
function missingIn(prompt: string): string[] {
  const [, list = '[]'] = /missing[^[\n]{0,40}(\[[^\]]*\])/i.exec(prompt) ?? [];
  try {
    return (JSON.parse(list) as Json[]).filter((it) => typeof it === 'string');
  } catch {
    return [];
  }
}

/** What the schema lacks that most is known of, where the prompt does not say. */
function open(context: JsonObject, tables: Tables): string[] {
  const lacks = (name: string) => context[name] === undefined || context[name] === null || context[name] === '';
  const schemas = enabled(tables, 'ce_output_schema').map((it) => properties(objectOf(it['json_schema'])));
  const known = (all: Property[]) => all.filter((it) => !lacks(it.name)).length;
  const [first] = schemas.filter((all) => all.some((it) => it.required && lacks(it.name))).sort((a, b) => known(b) - known(a));
  return (first ?? []).filter((it) => it.required && lacks(it.name)).map((it) => it.name);
}

/** Names a value as its schema describes it. */
function described(name: string, tables: Tables): string {
  const schemas = enabled(tables, 'ce_output_schema').map((it) => objectOf(it['json_schema']));
  const found = schemas.flatMap(properties).find((it) => it.name === name)?.schema['description'];
  const words = (typeof found === 'string' && found.length <= 60 ? found : spoken(name)).replace(/^\p{Lu}(?=\p{Ll})/u, (it) => it.toLowerCase());
  return /^(the|your|a|an|how|whether|what)\b/i.test(words) ? words : `the ${words}`;
}

function observations(context: JsonObject): { tool: string; value: Json }[] {
  const list = objectOf(context['mcp'])['observations'];
  if (!Array.isArray(list)) return [];
  return list.map(objectOf).map((it) => {
    const json = it['json'] ?? null;
    const text = typeof json === 'string' ? json : JSON.stringify(json);
    return { tool: string(it['toolCode']), value: parsed(text) };
  });
}

function findings(seen: { tool: string; value: Json }[]): string {
  const failed = seen.filter((it) => objectOf(it.value)['status'] === 'ERROR' && objectOf(it.value)['error'] !== undefined);
  const facts = seen.filter((it) => !failed.includes(it)).flatMap((it) => scalars(it.value));
  const found = facts.length > 0 ? `Here is what I found: ${listed([...new Set(facts)].slice(0, 8))}` : 'I found nothing';
  return failed.length > 0 ? `${found}; no answer came from ${listed(failed.map((it) => spoken(it.tool)))}` : found;
}

function scalars(value: Json, name = '', depth = 0): string[] {
  if (value === null || depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((it) => scalars(it, name, depth + 1));
  if (typeof value === 'object') return Object.entries(value).flatMap(([key, it]) => scalars(it, spoken(key), depth + 1));
  if (ASIDE.includes(name) || (name === 'status' && typeof value === 'number')) return [];
  return [`${name} ${String(value).slice(0, 80)}`.trim()];
}

/** Names of what is about the call and not about its result. */
const ASIDE = ['attempt', 'latency ms', 'truncated', 'row count', 'success'];

/** What a conversation knows, without what the engine keeps there for itself. */
function values(context: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(context).filter(([, it]) => it !== null && it !== '' && typeof it !== 'object'));
}

function enabled(tables: Tables, name: string): JsonObject[] {
  return (tables[name] ?? []).filter((it) => it['enabled'] !== false);
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function string(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

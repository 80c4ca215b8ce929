/**
 * The automatic model: answers model requests without an API key.
 *
 * It uses words and patterns only, and is deterministic.
 */
import type { Json, JsonObject } from '../types';
import { extract } from './extract';
import { buildValue, choicesOf, asObject, propertiesOf, typesOf, type Property } from './schema';
import type { LlmRequestJson } from './skeleton';
import { contentWords, joinList, toWords } from './words';

export { findProblem, skeleton, type LlmRequestJson } from './skeleton';

/** The rows of a pack by table. */
export type Tables = Record<string, JsonObject[]>;

/** Answers a model request by its purpose. */
export function answerRequest(request: LlmRequestJson, tables: Tables): { text: string } {
  const answer = request.mode === 'text' ? textAnswer(request, tables) : jsonAnswer(request, tables);
  return { text: typeof answer === 'string' ? answer : JSON.stringify(answer) };
}

function jsonAnswer(request: LlmRequestJson, tables: Tables): Json {
  const schema = asObject(request.schema);
  const context = asObject(request.context);
  switch (request.purpose) {
    case 'dialogue_act':
      return dialogueActReply(request, schema, context);
    case 'intent_agent':
      return intentReply(request.user_text, tables);
    case 'schema_extraction':
      return extract(schema, request.user_text, context, isHeld(context));
    case 'mcp_plan':
      return planReply(request, schema, context, tables);
    case 'policy':
      return { match: matchesPolicy(request) };
    case 'synthesis':
      return synthesisReply(request);
    case 'sql_repair':
      return { sql: '' };
    default:
      return schemaReply(request, schema, context, tables);
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

function dialogueActReply(request: LlmRequestJson, schema: JsonObject, context: JsonObject): Json {
  const text = request.user_text.trim().toLowerCase();
  const [named] = ACTS.find(([, pattern]) => pattern.test(text)) ?? [];
  const dialogueAct = named ?? (isHeld(context) && text.length <= 160 ? 'ANSWER' : 'NEW_REQUEST');
  const rewrites = propertiesOf(schema).some((it) => it.name === 'standaloneQuery');
  return { dialogueAct, confidence: named ? 0.9 : 0.75, ...(rewrites ? { standaloneQuery: '' } : {}) };
}

/** Whether a question is open or values are being collected. */
function isHeld(context: JsonObject): boolean {
  return asObject(context['intent_lock'])['locked'] === true || Boolean(asObject(context['pending_clarification'])['question']);
}

function intentReply(text: string, tables: Tables): Json {
  const words = [...new Set(contentWords(text))];
  const scored = enabledRows(tables, 'ce_intent')
    .map((row) => ({ code: asText(row['intent_code']), weight: intentScore(words, row, tables) }))
    .filter((it) => it.weight > 0 && it.code.toUpperCase() !== 'UNKNOWN')
    .sort((a, b) => b.weight - a.weight);
  const [best] = scored;
  if (!best) return { intent: null, state: null, confidence: 0.2, needsClarification: false, intentScores: [] };
  // Lower scores stay outside the range in which intents collide.
  const score = (weight: number) => (weight === best.weight ? 0.9 : Math.round((70 * weight) / best.weight) / 100);
  return {
    intent: best.code,
    // Without a state the open question would remain open.
    state: firstState(best.code, tables) ?? 'UNKNOWN',
    confidence: 0.9,
    needsClarification: false,
    intentScores: scored.map((it) => ({ intent: it.code, confidence: score(it.weight) })),
  };
}

/** Scores an intent; words of its code and patterns count twice. */
function intentScore(words: string[], row: JsonObject, tables: Tables): number {
  const code = asText(row['intent_code']);
  const patterns = enabledRows(tables, 'ce_intent_classifier').filter((it) => it['intent_code'] === code);
  const strong = contentWords(`${toWords(code)} ${patterns.map((it) => asText(it['pattern']).replace(/\\[a-z]/gi, ' ')).join(' ')}`);
  const weak = contentWords(['display_name', 'description', 'llm_hint'].map((it) => asText(row[it])).join(' '));
  return words.reduce((sum, it) => sum + (strong.includes(it) ? 2 : weak.includes(it) ? 1 : 0), 0);
}

/** Returns the first state of an intent, as far as its rows show. */
function firstState(code: string, tables: Tables): string | null {
  const own = ['ce_intent_classifier', 'ce_output_schema', 'ce_response'].flatMap((it) => enabledRows(tables, it));
  const states = own.filter((it) => it['intent_code'] === code).map((it) => asText(it['state_code']));
  return states.find((it) => it !== '' && it !== 'ANY' && it !== 'UNKNOWN') ?? null;
}

function planReply(request: LlmRequestJson, schema: JsonObject, context: JsonObject, tables: Tables): Json {
  const codes = choicesOf(asObject(asObject(schema['properties'])['tool_code'])).filter((it) => typeof it === 'string');
  const observed = observations(context);
  const answer = (text: string): Json => ({ action: 'ANSWER', tool_code: null, args: {}, answer: text, operation_tag: null });
  const next = codes.find((code) => !observed.some((it) => it.tool.toLowerCase() === code.toLowerCase()));
  if (next === undefined) return answer(observed.length > 0 ? describeFindings(observed) : 'There is nothing here to look that up with');
  const { given, missing } = toolArguments(next, request, context, tables);
  if (missing.length > 0) return answer(`Please tell me ${joinList(missing.map((it) => describeValue(it, tables)))}`);
  return { action: 'CALL_TOOL', tool_code: next, args: given, answer: null, operation_tag: null };
}

/** Returns the known arguments of a tool; without an input schema, all known values. */
function toolArguments(tool: string, request: LlmRequestJson, context: JsonObject, tables: Tables): { given: JsonObject; missing: string[] } {
  const known = knownValues(context);
  const row = enabledRows(tables, 'ce_mcp_tool').find((it) => it['tool_code'] === tool);
  const own = (table: string) => enabledRows(tables, table).find((it) => it['tool_id'] === row?.['tool_id']);
  const inputSchema = asObject(own('cv_tool_spec')?.['input_schema'] ?? own('ce_mcp_db_tool')?.['param_schema']);
  const all = propertiesOf(inputSchema);
  if (all.length === 0) return { given: known, missing: [] };
  const extracted = extract(inputSchema, request.user_text, known, false);
  const text = (name: string) => (/query|question|text|message|search/i.test(name) ? request.user_text : undefined);
  const find = (name: string) => extracted[name] ?? known[name] ?? text(name);
  const hasDefault = (it: Property) => choicesOf(it.schema).length > 0 || it.schema['default'] !== undefined || typesOf(it.schema)[0] === 'boolean';
  const given = all.filter((it) => find(it.name) !== undefined || (it.required && hasDefault(it)));
  return {
    given: Object.fromEntries(given.map((it) => [it.name, buildValue(it.schema, find, it.name)])),
    missing: all.filter((it) => it.required && !given.includes(it)).map((it) => it.name),
  };
}

function matchesPolicy({ user }: LlmRequestJson): boolean {
  const [, rule = '', message = ''] = /The rule:\n([^]*?)\n\nThe message:\n([^]*)$/.exec(user) ?? [];
  const messageWords = contentWords(message);
  const words = [...new Set(contentWords(rule))];
  const hits = words.filter((it) => messageWords.includes(it)).length;
  return hits >= 2 && hits * 2 >= words.length;
}

/** Answers a question with the sentence of the passages that shares most words with it. */
function synthesisReply({ user, user_text: text }: LlmRequestJson): Json {
  const words = new Set(contentWords(`${text} ${/^question: (.*)/m.exec(user)?.[1] ?? ''}`));
  const sentences = parseObjects(/^passages: (.*)/m.exec(user)?.[1]).flatMap((it) =>
    asText(it['text']).split(/(?<=[.!?])\s+/).map((sentence) => {
      const hits = contentWords(`${asText(it['title'])} ${sentence}`).filter((word) => words.has(word)).length;
      return { n: it['n'] ?? 0, sentence, hits };
    }),
  );
  const [best] = sentences.filter((it) => it.hits > 0).sort((a, b) => b.hits - a.hits);
  return best ? { answer: best.sentence, used: [best.n], answered: true } : { answer: '', used: [], answered: false };
}

function parseObjects(text = '[]'): JsonObject[] {
  try {
    const value = JSON.parse(text) as Json;
    return Array.isArray(value) ? value.map(asObject) : [];
  } catch {
    return [];
  }
}

/** Builds a value by the schema from known values; without a schema, a message. */
function schemaReply(request: LlmRequestJson, schema: JsonObject, context: JsonObject, tables: Tables): Json {
  const known = knownValues(context);
  if (typesOf(schema).length === 0) return { ...known, message: replySentence(request, context, tables) };
  const extracted = extract(schema, request.user_text, known, false);
  return buildValue(schema, (name, it) => {
    const prose = /^(answer|message|text|reply|response|summary|description|content)$/i.test(name) && typesOf(it).includes('string');
    return extracted[name] ?? known[name] ?? (prose ? replySentence(request, context, tables) : undefined);
  });
}

function textAnswer(request: LlmRequestJson, tables: Tables): string {
  const context = asObject(request.context);
  switch (request.purpose) {
    // The engine asks its own question if the model gives none.
    case 'disambiguation':
      return '';
    case 'intent_collision': {
      const names = enabledRows(tables, 'ce_intent').filter((it) => request.user.includes(JSON.stringify(it['intent_code'])));
      const displayNames = names.slice(0, 3).map((it) => asText(it['display_name']) || toWords(asText(it['intent_code'])));
      return displayNames.length > 1 ? `Did you mean ${joinList(displayNames, 'or')}?` : 'Could you say in other words what you would like?';
    }
    case 'memory_summary':
      return `The customer wrote: ${request.user_text}`;
    default:
      return replySentence(request, context, tables);
  }
}

/** Builds a sentence from the prompt: missing values, findings or known values. */
function replySentence(request: LlmRequestJson, context: JsonObject, tables: Tables): string {
  const fromPrompt = parseMissing(request.user);
  const missing = fromPrompt.length > 0 || asObject(context['intent_lock'])['locked'] !== true ? fromPrompt : missingProperties(context, tables);
  const known = Object.entries(knownValues(context)).map(([name, value]) => `${toWords(name)} ${String(value)}`);
  const knownText = known.length > 0 ? `I have noted ${joinList(known)}. ` : '';
  if (missing.length > 0) return `${knownText}Please tell me ${joinList(missing.map((it) => describeValue(it, tables)))}.`;
  const observed = observations(context);
  if (observed.length > 0) return `${describeFindings(observed)}.`;
  if (knownText) return `${knownText}What would you like to do next?`;
  return request.user_text ? `You wrote: ${request.user_text}. A model would answer that here.` : 'A model would answer here.';
}

/** Parses the list after the word 'missing' in a prompt. */
function parseMissing(prompt: string): string[] {
  const [, list = '[]'] = /missing[^[\n]{0,40}(\[[^\]]*\])/i.exec(prompt) ?? [];
  try {
    return (JSON.parse(list) as Json[]).filter((it) => typeof it === 'string');
  } catch {
    return [];
  }
}

/** Lists the missing values of the schema with the most known values, if the prompt does not name them. */
function missingProperties(context: JsonObject, tables: Tables): string[] {
  const lacks = (name: string) => context[name] === undefined || context[name] === null || context[name] === '';
  const schemas = enabledRows(tables, 'ce_output_schema').map((it) => propertiesOf(asObject(it['json_schema'])));
  const known = (all: Property[]) => all.filter((it) => !lacks(it.name)).length;
  const [first] = schemas.filter((all) => all.some((it) => it.required && lacks(it.name))).sort((a, b) => known(b) - known(a));
  return (first ?? []).filter((it) => it.required && lacks(it.name)).map((it) => it.name);
}

/** Describes a value in the words of its schema. */
function describeValue(name: string, tables: Tables): string {
  const schemas = enabledRows(tables, 'ce_output_schema').map((it) => asObject(it['json_schema']));
  const found = schemas.flatMap(propertiesOf).find((it) => it.name === name)?.schema['description'];
  const words = (typeof found === 'string' && found.length <= 60 ? found : toWords(name)).replace(/^\p{Lu}(?=\p{Ll})/u, (it) => it.toLowerCase());
  return /^(the|your|a|an|how|whether|what)\b/i.test(words) ? words : `the ${words}`;
}

function observations(context: JsonObject): { tool: string; value: Json }[] {
  const list = asObject(context['mcp'])['observations'];
  if (!Array.isArray(list)) return [];
  return list.map(asObject).map((it) => {
    const json = it['json'] ?? null;
    const text = typeof json === 'string' ? json : JSON.stringify(json);
    return { tool: asText(it['toolCode']), value: tryParse(text) };
  });
}

function describeFindings(observed: { tool: string; value: Json }[]): string {
  const failed = observed.filter((it) => asObject(it.value)['status'] === 'ERROR' && asObject(it.value)['error'] !== undefined);
  const facts = observed.filter((it) => !failed.includes(it)).flatMap((it) => scalarTexts(it.value));
  const found = facts.length > 0 ? `Here is what I found: ${joinList([...new Set(facts)].slice(0, 8))}` : 'I found nothing';
  return failed.length > 0 ? `${found}; no answer came from ${joinList(failed.map((it) => toWords(it.tool)))}` : found;
}

function scalarTexts(value: Json, name = '', depth = 0): string[] {
  if (value === null || depth > 3) return [];
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((it) => scalarTexts(it, name, depth + 1));
  if (typeof value === 'object') return Object.entries(value).flatMap(([key, it]) => scalarTexts(it, toWords(key), depth + 1));
  if (METADATA_NAMES.includes(name) || (name === 'status' && typeof value === 'number')) return [];
  return [`${name} ${String(value).slice(0, 80)}`.trim()];
}

/** Names of members that describe the call, not its result. */
const METADATA_NAMES = ['attempt', 'latency ms', 'truncated', 'row count', 'success'];

/** Returns the values of a conversation, without those of the engine. */
function knownValues(context: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(context).filter(([, it]) => it !== null && it !== '' && typeof it !== 'object'));
}

function enabledRows(tables: Tables, name: string): JsonObject[] {
  return (tables[name] ?? []).filter((it) => it['enabled'] !== false);
}

function tryParse(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function asText(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

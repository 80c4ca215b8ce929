import { mcpCall, mcpLabel } from './mcp/call';
import { plural } from './plural';
import type { Completion, Effect, Json, JsonObject } from './types';

/** A named part of a request or an answer; folded parts are shown on demand. */
export interface Part {
  name: string;
  value: Json;
  folded: boolean;
}

/** A request or an answer in parts, for display. */
export interface PartList {
  parts: Part[];
  failed: boolean;
}

/** Members that are shown in the title and the tags. */
const TITLE_MEMBERS = ['kind', 'language', 'caller', 'method', 'purpose', 'mode', 'task', 'called_for', 'tool_code', 'tool_group', 'extension', 'ms', 'pageId', 'sectionId', 'containerId'];

/** Named parts, in display order. */
const REQUEST_PARTS: [member: string, name: string, folded: boolean][] = [
  ['query', 'Query', false],
  ['code', 'Code', false],
  ['user', 'User prompt', false],
  ['system', 'System prompt', true],
  ['args', 'Arguments', false],
  ['url', 'URL', false],
  ['body', 'Body', false],
  ['input', 'Input', false],
  ['texts', 'Texts', false],
  ['inputParams', 'Input params', false],
  ['view', 'Session as the task sees it', true],
];

const REPLY_PARTS: [member: string, name: string, folded: boolean][] = [
  ['failure', 'Failure', false],
  ['logs', 'Logs', false],
  ['changed', 'Changed variables', false],
  ['removed', 'Removed variables', false],
  ['branch', 'Branch', false],
  ['message', 'Message', false],
  ['passages', 'Passages', false],
  ['text', '', false],
  ['status', 'Status', false],
  ['body', 'Body', false],
  ['result', '', false],
  ['said', '', false],
  ['data', '', false],
  ['set_params', 'Set params', false],
  ['set_context', 'Set context', false],
  ['vectors', 'Vectors', true],
];

/** Returns the title of an effect. */
export function effectTitle(effect: Effect): string {
  const { request } = effect;
  const { kind, texts } = request;
  const call = mcpCall(effect);
  if (call) return mcpLabel(call);
  const text = (key: string) => (typeof request[key] === 'string' ? (request[key] as string) : '');
  if (kind === 'container') return `${request['pageId']}/${request['sectionId']}/${request['containerId']}`;
  if (kind === 'embed' && Array.isArray(texts)) return plural(texts.length, 'text');
  if (kind === 'sleep') return `${request['ms']} ms`;
  if (kind === 'http') return Object.values(request['caller'] ?? {}).join() || kind;
  if (kind === 'knowledge') return 'search';
  if (kind === 'phrase_search') return 'phrases';
  if (kind === 'script') return text('language');
  return text('purpose') || text('task') || text('tool_code') || text('tool_group') || text('extension') || kind;
}

/** Whether an effect calls the desk of a handoff. */
export function isHandoff({ request }: { request: JsonObject }): boolean {
  const { caller } = request;
  return typeof caller === 'object' && caller !== null && 'handoff' in caller;
}

/** Returns the tags of an effect: its kind and details. */
export function effectTags({ request }: Effect): string[] {
  const more = [request['mode'], request['method'], request['called_for'], request['tool_code'] ? request['tool_group'] : null];
  return [request.kind, ...more.filter((it) => typeof it === 'string')];
}

/** Describes what a pending effect waits for. */
export function waitingText(effect: Effect): string {
  const names: Record<string, string> = { llm: 'the model', task: 'the task', tool: 'the tool', container: 'the container', http: 'the service', extension: 'the extension', knowledge: 'the knowledge base', phrase_search: 'the phrases', script: 'the script' };
  const name = isHandoff(effect) ? 'the desk' : names[effect.request.kind];
  return name ? `Waiting for ${name}: ${effectTitle(effect)}` : 'Working';
}

/** Splits a request into parts. */
export function requestParts(effect: Effect): PartList {
  const { spec: _, ...unspecified } = effect.request;
  // The details of a call name what its spec says.
  const request = mcpCall(effect) ? unspecified : effect.request;
  return { parts: splitParts(request, REQUEST_PARTS, 'Other request fields'), failed: false };
}

/** Splits an outcome into parts. */
export function outcomeParts({ outcome }: Completion): PartList {
  if ('error' in outcome) {
    const { kind, message, detail } = outcome.error;
    return { parts: [{ name: '', value: `${kind}${detail ? ` (${detail})` : ''}: ${message}`, folded: false }], failed: true };
  }
  // A script that failed has answered why.
  return { parts: splitParts(outcome.ok, REPLY_PARTS, 'Other answer fields'), failed: outcome.ok.kind === 'script' && 'failure' in outcome.ok };
}

/** Describes an answer in one line; `undefined` where its first part does. */
export function answerSummary({ outcome }: Completion): string | undefined {
  if ('error' in outcome) return undefined;
  const { kind, passages, failure, branch, changed, removed } = outcome.ok;
  if (kind === 'knowledge') return plural(Array.isArray(passages) ? passages.length : 0, 'passage');
  if (kind !== 'script') return undefined;
  if (typeof failure === 'object' && failure !== null && !Array.isArray(failure)) return `${String(failure['code'])}: ${String(failure['message'])}`;
  const names = [...Object.keys(changed ?? {}), ...(Array.isArray(removed) ? removed : [])];
  return [typeof branch === 'string' && `branch ${branch}`, names.length > 0 && `changed ${names.join(', ')}`].filter(Boolean).join(', ') || 'changed nothing';
}

function splitParts(from: JsonObject, known: typeof REQUEST_PARTS, restName: string): Part[] {
  const out: Part[] = [];
  for (const [member, name, folded] of known) {
    const value = from[member];
    if (value !== undefined && !isEmpty(value)) out.push({ name, value, folded });
  }
  const named = [...TITLE_MEMBERS, ...known.map((it) => it[0])];
  const rest = Object.entries(from).filter(([key, value]) => !named.includes(key) && !isEmpty(value));
  if (rest.length > 0) out.push({ name: restName, value: Object.fromEntries(rest), folded: true });
  return out;
}

function isEmpty(value: Json): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

import type { Completion, Effect, Json, JsonObject } from './types';

/** A named part of a request or an answer; folded parts are read only when somebody asks for them. */
export interface Part {
  name: string;
  value: Json;
  folded: boolean;
}

/** A request or an answer as people read it. */
export interface Told {
  parts: Part[];
  failed: boolean;
}

/** Members that the title and the chips already say. */
const SAID = ['kind', 'caller', 'method', 'purpose', 'mode', 'task', 'called_for', 'tool_code', 'tool_group', 'extension', 'ms', 'pageId', 'sectionId', 'containerId'];

/** Parts with a name of their own, in the order in which people read them. */
const ASKED: [member: string, name: string, folded: boolean][] = [
  ['user', 'User prompt', false],
  ['system', 'System prompt', true],
  ['args', 'Arguments', false],
  ['url', 'Address', false],
  ['body', 'Body', false],
  ['input', 'Input', false],
  ['texts', 'Texts', false],
  ['inputParams', 'Input params', false],
  ['view', 'Session that the task sees', true],
];

const ANSWERED: [member: string, name: string, folded: boolean][] = [
  ['text', '', false],
  ['status', 'Status', false],
  ['body', 'Body', false],
  ['result', '', false],
  ['said', '', false],
  ['data', '', false],
  ['set_params', 'Sets params', false],
  ['set_context', 'Sets context', false],
  ['vectors', 'Vectors', true],
];

/** Names an effect by what it is about. */
export function title({ request }: Effect): string {
  const { kind, texts } = request;
  const text = (key: string) => (typeof request[key] === 'string' ? (request[key] as string) : '');
  if (kind === 'container') return `${request['pageId']}/${request['sectionId']}/${request['containerId']}`;
  if (kind === 'embed' && Array.isArray(texts)) return texts.length === 1 ? '1 text' : `${texts.length} texts`;
  if (kind === 'sleep') return `${request['ms']} ms`;
  if (kind === 'http') return Object.values(request['caller'] ?? {}).join() || kind;
  return text('purpose') || text('task') || text('tool_code') || text('tool_group') || text('extension') || kind;
}

/** Says in a few words each what kind of an effect it is. */
export function kinds({ request }: Effect): string[] {
  const more = [request['mode'], request['method'], request['called_for'], request['tool_code'] ? request['tool_group'] : null];
  return [request.kind, ...more.filter((it) => typeof it === 'string')];
}

/** Says what is waited for. */
export function awaited(effect: Effect): string {
  const names: Record<string, string> = { llm: 'the model', task: 'the task', tool: 'the tool', container: 'the container', http: 'the service', extension: 'the extension' };
  const name = names[effect.request.kind];
  return name ? `Waiting for ${name}: ${title(effect)}` : 'Working';
}

/** Takes a request apart. */
export function asked({ request }: Effect): Told {
  return { parts: parts(request, ASKED, 'Rest of the request'), failed: false };
}

/** Takes an answer apart. */
export function answered({ outcome }: Completion): Told {
  if ('error' in outcome) {
    const { kind, message } = outcome.error;
    return { parts: [{ name: '', value: `${kind}: ${message}`, folded: false }], failed: true };
  }
  return { parts: parts(outcome.ok, ANSWERED, 'Rest of the answer'), failed: false };
}

function parts(from: JsonObject, known: typeof ASKED, restName: string): Part[] {
  const out: Part[] = [];
  for (const [member, name, folded] of known) {
    const value = from[member];
    if (value !== undefined && !isEmpty(value)) out.push({ name, value, folded });
  }
  const named = [...SAID, ...known.map((it) => it[0])];
  const rest = Object.entries(from).filter(([key, value]) => !named.includes(key) && !isEmpty(value));
  if (rest.length > 0) out.push({ name: restName, value: Object.fromEntries(rest), folded: true });
  return out;
}

function isEmpty(value: Json): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

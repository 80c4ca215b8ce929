import type { JsonObject } from '../../types';

/** How an answer is constrained. */
export type Mode = 'text' | 'json' | 'json_strict';

/** What the core asks a model, as far as it is sent. */
export interface LlmRequest {
  purpose: string;
  mode: Mode;
  system: string;
  user: string;
  hint?: string;
  schema?: JsonObject | null;
}

/** What a call asks a model for. */
export interface Call {
  request: LlmRequest;
  model: string;
  /** Sent when there is one. */
  temperature: number | undefined;
  /** Whether the limit of tokens goes by its newer name. */
  completionTokens: boolean;
  /** Whether the answer comes in pieces. */
  stream: boolean;
}

/** Tokens that an answer may have. */
export const MAX_TOKENS = 4096;

const ONLY = 'Answer with one JSON value and nothing else.';

/** Gives the schema that the provider is to enforce. */
export function strictSchema({ request }: Call): JsonObject | undefined {
  const { schema } = request;
  const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
  return request.mode === 'json_strict' && isObject ? schema : undefined;
}

/** Says in words what the provider does not enforce. */
export function instruction({ request }: Call): string | undefined {
  if (request.mode === 'text') return undefined;
  return request.schema == null ? ONLY : `${ONLY} It follows this JSON Schema: ${JSON.stringify(request.schema)}`;
}

/** Gives system and user prompt. A system prompt without a user prompt is sent as one: providers refuse a call without a message. */
export function prompts({ request }: Call, told: string | undefined): [system: string, user: string] {
  const system = told === undefined ? request.system : request.system.trim() ? `${request.system}\n\n${told}` : told;
  const user = request.hint === undefined ? request.user : `${request.user}\n\n${request.hint}`;
  return user.trim() ? [system, user] : ['', system];
}

/** Gives the messages of providers that take the system prompt as one of them. */
export function messages(call: Call, told: string | undefined): JsonObject[] {
  const [system, user] = prompts(call, told);
  const own = { role: 'user', content: user };
  return system.trim() ? [{ role: 'system', content: system }, own] : [own];
}

/** Names the answer where it needs a name. */
export function nameOf({ request }: Call): string {
  return request.purpose.slice(0, 64).replace(/[^\w-]/g, '_') || 'answer';
}

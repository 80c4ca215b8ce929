import type { JsonObject } from '../../types';

/** How the answer is constrained. */
export type AnswerMode = 'text' | 'json' | 'json_strict';

/** The model request of the core, as far as it is sent. */
export interface LlmRequest {
  purpose: string;
  mode: AnswerMode;
  system: string;
  user: string;
  hint?: string;
  schema?: JsonObject | null;
}

/** One attempt of a model request. */
export interface ModelCall {
  request: LlmRequest;
  model: string;
  /** Sent if defined. */
  temperature: number | undefined;
  /** Whether the token limit is sent as `max_completion_tokens`. */
  usesCompletionTokens: boolean;
  /** Whether the answer is streamed. */
  stream: boolean;
}

/** Maximum length of an answer, in tokens. */
export const MAX_OUTPUT_TOKENS = 4096;

const JSON_ONLY = 'Answer with one JSON value and nothing else.';

/** Returns the schema that the provider should enforce. */
export function strictSchema({ request }: ModelCall): JsonObject | undefined {
  const { schema } = request;
  const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema);
  return request.mode === 'json_strict' && isObject ? schema : undefined;
}

/** Returns the prompt text for a format that the provider does not enforce. */
export function formatInstruction({ request }: ModelCall): string | undefined {
  if (request.mode === 'text') return undefined;
  return request.schema == null ? JSON_ONLY : `${JSON_ONLY} It follows this JSON Schema: ${JSON.stringify(request.schema)}`;
}

/** Returns system and user prompt. A system prompt alone is sent as the user prompt, because providers reject calls without a message. */
export function buildPrompts({ request }: ModelCall, instruction: string | undefined): [system: string, user: string] {
  const system = instruction === undefined ? request.system : request.system.trim() ? `${request.system}\n\n${instruction}` : instruction;
  const user = request.hint === undefined ? request.user : `${request.user}\n\n${request.hint}`;
  return user.trim() ? [system, user] : ['', system];
}

/** Returns the messages for providers that take the system prompt as a message. */
export function buildMessages(call: ModelCall, instruction: string | undefined): JsonObject[] {
  const [system, user] = buildPrompts(call, instruction);
  const userMessage = { role: 'user', content: user };
  return system.trim() ? [{ role: 'system', content: system }, userMessage] : [userMessage];
}

/** Returns a name for the answer schema. */
export function schemaName({ request }: ModelCall): string {
  return request.purpose.slice(0, 64).replace(/[^\w-]/g, '_') || 'answer';
}

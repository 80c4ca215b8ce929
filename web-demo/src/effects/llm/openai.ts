import type { JsonObject } from '../../types';
import { formatInstruction, MAX_OUTPUT_TOKENS, buildMessages, schemaName, strictSchema, type ModelCall } from './call';
import { ModelError } from './model-error';
import { valueAt, countAt, textAt } from './json-value';
import type { ProviderProtocol } from './protocol';
import type { ModelResponse } from './response';
import { parseJson } from './transport';

/** The chat completions API of OpenAI and compatible servers. */
export const openai: ProviderProtocol = {
  path: '/chat/completions',
  streamFormat: 'events',
  headers: (key) => (key ? { authorization: `Bearer ${key}` } : {}),
  buildBody,
  readResponse(_, response, body) {
    readPart(response, body, 'message');
    if (valueAt(body, 'choices', 0, 'message') === undefined) throw ModelError.unusable('it has no choices[0].message');
    response.isComplete = true;
  },
  readChunk(_, response, data) {
    if (data.trim() === '[DONE]') response.isComplete = true;
    else readPart(response, parseJson(data), 'delta');
  },
  end: (_, response) => void (response.isComplete = true),
};

function buildBody(call: ModelCall): JsonObject {
  const schema = strictSchema(call);
  const instruction = schema ? undefined : formatInstruction(call);
  return {
    model: call.model,
    messages: buildMessages(call, instruction),
    [call.usesCompletionTokens ? 'max_completion_tokens' : 'max_tokens']: MAX_OUTPUT_TOKENS,
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(schema ? { response_format: { type: 'json_schema', json_schema: { name: schemaName(call), strict: true, schema } } } : {}),
    ...(instruction === undefined ? {} : { response_format: { type: 'json_object' } }),
    ...(call.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function readPart(response: ModelResponse, body: unknown, message: 'message' | 'delta'): void {
  if (valueAt(body, 'error') != null) throw ModelError.fromErrorBody(body);
  response.model = textAt(body, 'model').trim() || response.model;
  response.inputTokens = countAt(body, 'usage', 'prompt_tokens') ?? response.inputTokens;
  response.outputTokens = countAt(body, 'usage', 'completion_tokens') ?? response.outputTokens;
  // The chunk with the usage has no choices.
  const choices = valueAt(body, 'choices');
  for (const choice of Array.isArray(choices) ? choices : []) {
    response.takeChoice(choice);
    // Some servers stream whole messages.
    readChoice(response, choice, valueAt(choice, message) ?? valueAt(choice, 'message'));
  }
}

function readChoice(response: ModelResponse, choice: unknown, message: unknown): void {
  response.pushThoughts(message);
  response.pushContent(valueAt(message, 'content'));
  response.refusal += textAt(message, 'refusal');
  const reason = textAt(choice, 'finish_reason');
  if (reason) response.hasFinished = true;
  if (reason === 'error') throw ModelError.fromErrorBody(choice);
  if (reason === 'length') response.stopReason = 'cut';
  if (reason === 'content_filter') response.stopReason = 'refused';
}

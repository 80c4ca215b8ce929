import type { JsonObject } from '../../types';
import { formatInstruction, MAX_OUTPUT_TOKENS, buildMessages, strictSchema, type ModelCall } from './call';
import { ModelError } from './model-error';
import { valueAt, countAt, textAt } from './json-value';
import type { ProviderProtocol } from './protocol';
import type { ModelResponse } from './response';
import { parseJson } from './transport';

/** The Ollama chat API. */
export const ollama: ProviderProtocol = {
  path: '/api/chat',
  streamFormat: 'lines',
  headers: () => ({}),
  buildBody,
  readResponse(_, response, body) {
    readPart(response, body);
    if (valueAt(body, 'message') === undefined) throw ModelError.unusable('it has no message');
  },
  readChunk(_, response, line) {
    readPart(response, parseJson(line));
  },
  end: () => {},
};

function buildBody(call: ModelCall): JsonObject {
  const schema = strictSchema(call);
  const instruction = schema ? undefined : formatInstruction(call);
  const format = schema ?? (instruction === undefined ? undefined : 'json');
  return {
    model: call.model,
    messages: buildMessages(call, instruction),
    stream: call.stream,
    options: { num_predict: MAX_OUTPUT_TOKENS, ...(call.temperature === undefined ? {} : { temperature: call.temperature }) },
    ...(format === undefined ? {} : { format }),
  };
}

function readPart(response: ModelResponse, body: unknown): void {
  if (valueAt(body, 'error') != null) throw ModelError.fromErrorBody(body);
  response.model = textAt(body, 'model').trim() || response.model;
  response.pushThoughts(valueAt(body, 'message'));
  response.pushContent(valueAt(body, 'message', 'content'));
  if (valueAt(body, 'done') !== true) return;
  response.isComplete = true;
  response.outputTokens = countAt(body, 'eval_count');
  // A cached prompt is not counted again.
  response.inputTokens = countAt(body, 'prompt_eval_count') ?? (response.outputTokens === undefined ? undefined : 0);
  if (valueAt(body, 'done_reason') === 'length') response.stopReason = 'cut';
}

import { elementTexts, memberText } from '../../json-text';
import type { JsonObject } from '../../types';
import { formatInstruction, MAX_OUTPUT_TOKENS, schemaName, buildPrompts, strictSchema, type ModelCall } from './call';
import { ModelError } from './model-error';
import { valueAt, countAt, textAt } from './json-value';
import type { ProviderProtocol } from './protocol';
import type { ModelResponse } from './response';
import { parseJson } from './transport';

/** The Anthropic Messages API. A strict schema becomes the input schema of a tool, whose arguments are the answer. */
export const anthropic: ProviderProtocol = {
  path: '/v1/messages',
  streamFormat: 'events',
  headers: (key) => ({
    'anthropic-version': '2023-06-01',
    // Required for requests from browsers.
    'anthropic-dangerous-direct-browser-access': 'true',
    ...(key ? { 'x-api-key': key } : {}),
  }),
  buildBody,
  readResponse,
  readChunk,
  end,
};

function buildBody(call: ModelCall): JsonObject {
  const schema = answerTool(call);
  const [system, user] = buildPrompts(call, schema ? undefined : formatInstruction(call));
  const name = schemaName(call);
  return {
    model: call.model,
    max_tokens: MAX_OUTPUT_TOKENS,
    messages: [{ role: 'user', content: user }],
    ...(system.trim() ? { system } : {}),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(schema ? { tools: [{ name, description: 'Takes the answer.', input_schema: schema }], tool_choice: { type: 'tool', name } } : {}),
    ...(call.stream ? { stream: true } : {}),
  };
}

/** Returns the schema as that of a tool, whose input must be an object. */
function answerTool(call: ModelCall): JsonObject | undefined {
  const schema = strictSchema(call);
  return schema?.['type'] === 'object' ? schema : undefined;
}

function readResponse(call: ModelCall, response: ModelResponse, body: unknown, text: string): void {
  if (valueAt(body, 'error') != null) throw ModelError.fromErrorBody(body);
  const content = valueAt(body, 'content');
  if (!Array.isArray(content) && typeof content !== 'string') throw ModelError.unusable('it has no content');
  for (const [index, block] of [content].flat().entries()) {
    const type = valueAt(block, 'type');
    if (type === 'thinking') response.pushThoughts(block);
    else if ((type === 'text' || type === undefined) && !answerTool(call)) response.pushContent(block);
    // From the text, so that `1.0` does not become `1`.
    if (type === 'tool_use' && answerTool(call)) response.text.push(toolInput(text, index));
  }
  response.model = textAt(body, 'model').trim();
  readUsage(response, valueAt(body, 'usage'));
  readStopReason(response, valueAt(body, 'stop_reason'));
  response.isComplete = true;
}

function toolInput(text: string, index: number): string {
  try {
    return memberText(elementTexts(text, 'content')[index] ?? '{}', 'input') ?? '';
  } catch {
    throw ModelError.unusable('it is nested too deeply');
  }
}

function readChunk(call: ModelCall, response: ModelResponse, data: string): void {
  const body = parseJson(data);
  switch (valueAt(body, 'type')) {
    case 'message_start':
      response.model = textAt(body, 'message', 'model').trim();
      readUsage(response, valueAt(body, 'message', 'usage'));
      break;
    case 'content_block_start':
      if (!answerTool(call)) response.text.push(textAt(body, 'content_block', 'text'));
      response.text.reasoning += textAt(body, 'content_block', 'thinking');
      break;
    case 'content_block_delta':
      response.text.push(textAt(body, 'delta', answerTool(call) ? 'partial_json' : 'text'));
      response.text.reasoning += textAt(body, 'delta', 'thinking');
      break;
    case 'message_delta':
      readUsage(response, valueAt(body, 'usage'));
      readStopReason(response, valueAt(body, 'delta', 'stop_reason'));
      break;
    case 'message_stop':
      end(call, response);
      break;
    case 'error':
      throw ModelError.fromErrorBody(body);
  }
}

/** Completes a streamed answer. */
function end(call: ModelCall, response: ModelResponse): void {
  response.text.finish();
  // A tool call without arguments has no deltas.
  if (answerTool(call) && !response.text.answer) response.text.push('{}');
  response.isComplete = true;
}

/** Reads token counts, which arrive cumulatively in several events. */
function readUsage(response: ModelResponse, usage: unknown): void {
  const input = countAt(usage, 'input_tokens');
  const cached = ['cache_creation_input_tokens', 'cache_read_input_tokens'].map((it) => countAt(usage, it) ?? 0);
  if (input !== undefined) response.inputTokens = cached.reduce((sum, it) => sum + it, input);
  response.outputTokens = countAt(usage, 'output_tokens') ?? response.outputTokens;
}

function readStopReason(response: ModelResponse, reason: unknown): void {
  if (typeof reason === 'string') response.hasFinished = true;
  if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') response.stopReason = 'cut';
  if (reason === 'refusal') response.stopReason = 'refused';
}

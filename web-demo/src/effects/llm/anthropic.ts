import { elementTexts, memberText } from '../../json-text';
import type { JsonObject } from '../../types';
import { instruction, MAX_TOKENS, nameOf, prompts, strictSchema, type Call } from './call';
import { Failed } from './failed';
import { look, lookCount, lookText } from './look';
import type { Protocol } from './protocol';
import type { Said } from './said';
import { json } from './wire';

/** Messages as Anthropic speaks them. A strict schema is that of a tool; what the model calls it with is the answer. */
export const anthropic: Protocol = {
  path: '/v1/messages',
  pieces: 'events',
  headers: (key) => ({
    'anthropic-version': '2023-06-01',
    // Without it the provider answers no browser.
    'anthropic-dangerous-direct-browser-access': 'true',
    ...(key ? { 'x-api-key': key } : {}),
  }),
  body,
  whole,
  part,
};

function body(call: Call): JsonObject {
  const schema = tool(call);
  const [system, user] = prompts(call, schema ? undefined : instruction(call));
  const name = nameOf(call);
  return {
    model: call.model,
    max_tokens: MAX_TOKENS,
    messages: [{ role: 'user', content: user }],
    ...(system.trim() ? { system } : {}),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(schema ? { tools: [{ name, description: 'Takes the answer.', input_schema: schema }], tool_choice: { type: 'tool', name } } : {}),
    ...(call.stream ? { stream: true } : {}),
  };
}

/** The schema of the answer as that of a tool, whose input is always an object. */
function tool(call: Call): JsonObject | undefined {
  const schema = strictSchema(call);
  return schema?.['type'] === 'object' ? schema : undefined;
}

function whole(call: Call, said: Said, body: unknown, text: string): void {
  const blocks = look(body, 'content');
  if (!Array.isArray(blocks)) throw Failed.unreadable('it has no content');
  for (const [index, block] of blocks.entries()) {
    const type = look(block, 'type');
    if (type === 'text' && !tool(call)) said.text += lookText(block, 'text');
    // `1.0` must not become `1`.
    if (type === 'tool_use' && tool(call)) said.text = input(text, index);
  }
  said.model = lookText(body, 'model').trim();
  usage(said, look(body, 'usage'));
  ending(said, look(body, 'stop_reason'));
  said.complete = true;
}

function input(text: string, index: number): string {
  try {
    return memberText(elementTexts(text, 'content')[index] ?? '{}', 'input') ?? '';
  } catch {
    throw Failed.unreadable('it is nested too deeply');
  }
}

function part(call: Call, said: Said, data: string): void {
  const body = json(data);
  switch (look(body, 'type')) {
    case 'message_start':
      said.model = lookText(body, 'message', 'model').trim();
      usage(said, look(body, 'message', 'usage'));
      break;
    case 'content_block_start':
      if (!tool(call)) said.text += lookText(body, 'content_block', 'text');
      break;
    case 'content_block_delta':
      said.text += lookText(body, 'delta', tool(call) ? 'partial_json' : 'text');
      break;
    case 'message_delta':
      usage(said, look(body, 'usage'));
      ending(said, look(body, 'delta', 'stop_reason'));
      break;
    case 'message_stop':
      // A tool without arguments is called without a piece of them.
      if (tool(call)) said.text ||= '{}';
      said.complete = true;
      break;
    case 'error':
      throw Failed.reported(body);
  }
}

/** The counts come in several events, each with what is known by then. */
function usage(said: Said, usage: unknown): void {
  const input = lookCount(usage, 'input_tokens');
  const cached = ['cache_creation_input_tokens', 'cache_read_input_tokens'].map((it) => lookCount(usage, it) ?? 0);
  if (input !== undefined) said.inputTokens = cached.reduce((sum, it) => sum + it, input);
  said.outputTokens = lookCount(usage, 'output_tokens') ?? said.outputTokens;
}

function ending(said: Said, reason: unknown): void {
  if (reason === 'max_tokens' || reason === 'model_context_window_exceeded') said.ending = 'cut';
  if (reason === 'refusal') said.ending = 'refused';
}

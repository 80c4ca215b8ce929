import type { JsonObject } from '../../types';
import { instruction, MAX_TOKENS, messages, nameOf, strictSchema, type Call } from './call';
import { Failed } from './failed';
import { look, lookCount, lookText } from './look';
import type { Protocol } from './protocol';
import type { Said } from './said';
import { json } from './wire';

/** Chat completions as OpenAI and the many servers like it speak them. */
export const openai: Protocol = {
  path: '/chat/completions',
  pieces: 'events',
  headers: (key) => (key ? { authorization: `Bearer ${key}` } : {}),
  body,
  whole(_, said, body) {
    take(said, body, 'message');
    if (look(body, 'choices', 0, 'message') === undefined) throw Failed.unreadable('it has no choices[0].message');
    said.complete = true;
  },
  part(_, said, data) {
    if (data.trim() === '[DONE]') said.complete = true;
    else take(said, json(data), 'delta');
  },
};

function body(call: Call): JsonObject {
  const schema = strictSchema(call);
  const told = schema ? undefined : instruction(call);
  return {
    model: call.model,
    messages: messages(call, told),
    [call.completionTokens ? 'max_completion_tokens' : 'max_tokens']: MAX_TOKENS,
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(schema ? { response_format: { type: 'json_schema', json_schema: { name: nameOf(call), strict: true, schema } } } : {}),
    ...(told === undefined ? {} : { response_format: { type: 'json_object' } }),
    ...(call.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

function take(said: Said, body: unknown, message: 'message' | 'delta'): void {
  if (look(body, 'error') != null) throw Failed.reported(body);
  said.model = lookText(body, 'model').trim() || said.model;
  said.inputTokens = lookCount(body, 'usage', 'prompt_tokens') ?? said.inputTokens;
  said.outputTokens = lookCount(body, 'usage', 'completion_tokens') ?? said.outputTokens;
  // The piece with the usage has no choices.
  const choice = look(body, 'choices', 0);
  said.text += lookText(choice, message, 'content');
  said.refusal += lookText(choice, message, 'refusal');
  const reason = look(choice, 'finish_reason');
  if (reason === 'length') said.ending = 'cut';
  if (reason === 'content_filter') said.ending = 'refused';
}

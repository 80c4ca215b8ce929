import type { JsonObject } from '../../types';
import { instruction, MAX_TOKENS, messages, strictSchema, type Call } from './call';
import { Failed } from './failed';
import { look, lookCount, lookText } from './look';
import type { Protocol } from './protocol';
import type { Said } from './said';
import { json } from './wire';

/** Chat as Ollama speaks it. */
export const ollama: Protocol = {
  path: '/api/chat',
  pieces: 'lines',
  headers: () => ({}),
  body,
  whole(_, said, body) {
    take(said, body);
    if (look(body, 'message') === undefined) throw Failed.unreadable('it has no message');
  },
  part(_, said, line) {
    if (line.trim()) take(said, json(line));
  },
};

function body(call: Call): JsonObject {
  const schema = strictSchema(call);
  const told = schema ? undefined : instruction(call);
  const format = schema ?? (told === undefined ? undefined : 'json');
  return {
    model: call.model,
    messages: messages(call, told),
    stream: call.stream,
    options: { num_predict: MAX_TOKENS, ...(call.temperature === undefined ? {} : { temperature: call.temperature }) },
    ...(format === undefined ? {} : { format }),
  };
}

function take(said: Said, body: unknown): void {
  if (look(body, 'error') != null) throw Failed.reported(body);
  said.model = lookText(body, 'model').trim() || said.model;
  said.text += lookText(body, 'message', 'content');
  if (look(body, 'done') !== true) return;
  said.complete = true;
  said.outputTokens = lookCount(body, 'eval_count');
  // A prompt that the server remembers is not counted again.
  said.inputTokens = lookCount(body, 'prompt_eval_count') ?? (said.outputTokens === undefined ? undefined : 0);
  if (look(body, 'done_reason') === 'length') said.ending = 'cut';
}

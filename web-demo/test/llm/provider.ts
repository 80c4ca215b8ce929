import type { Provider } from '../../src/effects/llm/model-config';
import type { Json, JsonObject } from '../../src/types';

/** All providers. */
export const ALL: Provider[] = ['openai', 'anthropic', 'ollama'];

/** Request paths. */
export const PATHS = { openai: '/v1/chat/completions', anthropic: '/v1/messages', ollama: '/api/chat' };

/** Returns a response body with 12 input and 7 output tokens and a stop reason. */
export function responseBody(provider: Provider, text: string, reason: string): JsonObject {
  const model = 'test-model-1';
  if (provider === 'openai') {
    const message = { role: 'assistant', content: text, refusal: null };
    return {
      model,
      choices: [{ index: 0, message, finish_reason: reason }],
      usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 },
    };
  }
  if (provider === 'anthropic') {
    const usage = { input_tokens: 9, cache_read_input_tokens: 3, output_tokens: 7 };
    return { type: 'message', role: 'assistant', model, content: [{ type: 'text', text }], stop_reason: reason, usage };
  }
  const message = { role: 'assistant', content: text };
  return { model, message, done: true, done_reason: reason, prompt_eval_count: 12, eval_count: 7 };
}

/** Returns a complete response. */
export function responseText(provider: Provider, text: string): string {
  return JSON.stringify(responseBody(provider, text, provider === 'anthropic' ? 'end_turn' : 'stop'));
}

/** Returns the same response as a stream. */
export function streamText(provider: Provider, pieces: string[]): string {
  const model = 'test-model-1';
  if (provider === 'openai') {
    const choice = (delta: Json, reason: Json) => ({ model, choices: [{ index: 0, delta, finish_reason: reason }], usage: null });
    const all = [
      choice({ role: 'assistant', content: '' }, null),
      ...pieces.map((content) => choice({ content }, null)),
      choice({}, 'stop'),
      { model, choices: [], usage: { prompt_tokens: 12, completion_tokens: 7 } },
    ];
    return `${all.map((it) => `data: ${JSON.stringify(it)}\n\n`).join('')}data: [DONE]\n\n`;
  }
  if (provider === 'anthropic') {
    const usage = { input_tokens: 9, cache_creation_input_tokens: 1, cache_read_input_tokens: 2, output_tokens: 1 };
    const all = [
      { type: 'message_start', message: { model, content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      ...pieces.map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
      { type: 'message_stop' },
    ];
    return all.map((it) => `event: ${it.type}\ndata: ${JSON.stringify(it)}\n\n`).join('');
  }
  const lines = pieces.map((content) => ({ model, message: { role: 'assistant', content }, done: false }));
  const last = { model, message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', prompt_eval_count: 12, eval_count: 7 };
  return [...lines, last].map((it) => `${JSON.stringify(it)}\n`).join('');
}

/** Returns an error in the provider's form. */
export function errorText(provider: Provider, type: string, message: string): string {
  if (provider === 'openai') return JSON.stringify({ error: { message, type, param: null, code: null } });
  if (provider === 'anthropic') return JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' });
  return JSON.stringify({ error: message });
}

import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../src/types';
import { sent } from '../loopback.mjs';
import { modelConfig, call, KEY, modelChain, reply, server } from './helpers';
import { ALL, responseText, PATHS } from './provider';

describe.each(ALL)('a whole answer of %s', (provider) => {
  /** Makes a call; returns the sent body and the reply. */
  async function exchange(mode: string, more: JsonObject, body: string): Promise<[sent: JsonObject, reply: JsonObject]> {
    const { address, got } = await server([sent(200, body)]);
    const answer = reply(await modelChain(1, modelConfig(provider, address)).answer(call(mode, more)));
    expect([got[0]?.method, got[0]?.path, got.length]).toEqual(['POST', PATHS[provider], 1]);
    const { headers = {}, body: prompt = '' } = got[0] ?? {};
    expect(headers['content-type']).toBe('application/json');
    const signed = ['authorization', 'x-api-key', 'anthropic-version', 'anthropic-dangerous-direct-browser-access'].map((it) => headers[it]);
    const expected = { openai: [`Bearer ${KEY}`], anthropic: [undefined, KEY, '2023-06-01', 'true'], ollama: [] };
    expect(signed).toEqual(Object.assign(new Array(4).fill(undefined), expected[provider]));
    expect(prompt).not.toContain('not for the provider');
    return [JSON.parse(prompt) as JsonObject, answer];
  }

  it('as text is requested and read', async () => {
    const [body, { kind, text, provider: by, model, usage }] = await exchange('text', {}, responseText(provider, 'Grüße 🙂'));
    expect([kind, text, by, model]).toEqual(['llm', 'Grüße 🙂', provider, 'test-model-1']);
    expect(usage).toEqual({ input_tokens: 12, output_tokens: 7 });
    const user = { role: 'user', content: 'Say hello.\n\nShortly.' };
    const messages = [{ role: 'system', content: 'Be kind.' }, user];
    const expected = {
      openai: { model: 'test-model', messages, max_tokens: 4096, temperature: 0 },
      anthropic: { model: 'test-model', max_tokens: 4096, system: 'Be kind.', messages: [user], temperature: 0 },
      ollama: { model: 'test-model', messages, stream: false, options: { num_predict: 4096, temperature: 0 } },
    };
    expect(body).toEqual(expected[provider]);
  });

  it('as JSON is requested in the form of the provider', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } } };
    const [body, { text }] = await exchange('json', { schema }, responseText(provider, '{"a":1.0}'));
    expect(text).toBe('{"a":1.0}');
    const prompt = `Be kind.\n\nAnswer with one JSON value and nothing else. It follows this JSON Schema: ${JSON.stringify(schema)}`;
    const system = provider === 'anthropic' ? body['system'] : (body['messages'] as JsonObject[])[0]?.['content'];
    const mode = { openai: body['response_format'], anthropic: body['tools'], ollama: body['format'] };
    const expected = { openai: { type: 'json_object' }, anthropic: undefined, ollama: 'json' };
    expect([system, mode[provider]]).toEqual([prompt, expected[provider]]);
  });

  it('with a strict schema is enforced by the provider', async () => {
    const schema = { type: 'object', required: ['match'], properties: { match: { type: 'number' } } };
    let whole = responseText(provider, '{"match": 1.0}');
    if (provider === 'anthropic') {
      // As text, so that the number keeps its spelling.
      const tool = '{"type": "tool_use", "name": "policy", "input": {"match": 1.0}}';
      whole = `{"content": [{"type": "text", "text": "I call it."}, ${tool}], "stop_reason": "tool_use"}`;
    }
    const [body, { text }] = await exchange('json_strict', { purpose: 'policy', schema }, whole);
    expect(text).toBe('{"match": 1.0}');
    const tools = [{ name: 'policy', description: 'Takes the answer.', input_schema: schema }];
    const format = { type: 'json_schema', json_schema: { name: 'policy', strict: true, schema } };
    if (provider === 'openai') expect(body['response_format']).toEqual(format);
    if (provider === 'anthropic') expect([body['tools'], body['tool_choice']]).toEqual([tools, { type: 'tool', name: 'policy' }]);
    if (provider === 'ollama') expect(body['format']).toEqual(schema);
    expect(JSON.stringify(body)).not.toContain('nothing else');
  });

  it('is requested with the system prompt alone if there is no user prompt', async () => {
    const [body] = await exchange('text', { user: ' ', hint: ' ' }, responseText(provider, 'x'));
    expect(body['messages']).toEqual([{ role: 'user', content: 'Be kind.' }]);
    expect(body['system']).toBeUndefined();
  });

  it('is requested with fewer options if the model rejects some', async () => {
    const refused = (message: string) => sent(400, JSON.stringify({ error: { message } }));
    const first = refused("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.");
    const second = refused("'temperature' does not support 0 with this model.");
    const answers = provider === 'openai' ? [first, second] : [second];
    const { address, got } = await server([...answers, sent(200, responseText(provider, 'x'))]);
    const chain = modelChain(1, modelConfig(provider, address));
    for (const count of [answers.length + 1, answers.length + 2]) {
      expect(reply(await chain.answer(call('text')))['text']).toBe('x');
      expect(got.length, 'it is remembered').toBe(count);
    }
    expect(got.at(-1)?.body).not.toContain('temperature');
    if (provider === 'openai') expect(got.at(-1)?.body).toContain('"max_completion_tokens":4096');
  });
});

it('describes schemas that no Anthropic tool accepts in the prompt', async () => {
  const { address, got } = await server([sent(200, responseText('anthropic', '[]'))]);
  await modelChain(1, modelConfig('anthropic', address)).answer(call('json_strict', { schema: { type: 'array' } }));
  const body = JSON.parse(got[0]?.body ?? '') as Record<string, Json>;
  expect([body['tools'], String(body['system']).includes('"array"')]).toEqual([undefined, true]);
});

it('reads streamed tool arguments', async () => {
  const piece = (delta: JsonObject) => `data: ${JSON.stringify({ type: 'content_block_delta', delta })}\n\n`;
  const json = (text: string) => piece({ type: 'input_json_delta', partial_json: text });
  const end = 'data: {"type": "message_stop"}\n\n';
  const ask = { schema: { type: 'object' } };
  for (const [body, text] of [[piece({ text: 'I call it.' }) + json('{"a": ') + json('1.0}') + end, '{"a": 1.0}'], [end, '{}']] as const) {
    const { address } = await server([sent(200, body)]);
    const answer = reply(await modelChain(1, modelConfig('anthropic', address)).answer(call('json_strict', ask), () => {}));
    expect(answer['text']).toBe(text);
  }
});

it('accepts missing usage and ignores invalid counts', async () => {
  for (const usage of ['', ', "usage": {"prompt_tokens": 1.5, "completion_tokens": 7}']) {
    const { address } = await server([sent(200, `{"choices": [{"message": {"content": "x"}}]${usage}}`)]);
    const answer = reply(await modelChain(1, modelConfig('openai', address)).answer(call('text')));
    expect([answer['usage'], answer['model']]).toEqual([undefined, 'test-model']);
  }
});

import { describe, expect, it } from 'vitest';
import type { EffectError } from '../../src/effects/outcome';
import type { Provider } from '../../src/effects/llm/model-config';
import { MAX_RESPONSE_BYTES } from '../../src/effects/llm/transport';
import { retryAfter } from '../../src/effects/retry-after';
import { sent, untilTheEnd, type Sent } from '../loopback.mjs';
import { modelConfig, call, failure, modelChain, reply, server } from './helpers';
import { ALL, responseText, responseBody, errorText, streamText } from './provider';

/** Returns the error that a response leads to. */
async function callForError(provider: Provider, mode: string, answer: Sent): Promise<EffectError> {
  const { address, got } = await server([answer]);
  const error = failure(await modelChain(1, modelConfig(provider, address)).answer(call(mode)));
  expect(got.length).toBe(1);
  return error;
}

describe.each(ALL)('an error of %s', (provider) => {
  it.each([
    [400, 'invalid_request_error', 'refused'],
    [401, 'authentication_error', 'denied'],
    [403, 'permission_error', 'denied'],
    [404, 'not_found_error', 'not_found'],
    [429, 'rate_limit_error', 'limited'],
    [500, 'api_error', 'unavailable'],
    [529, 'overloaded_error', 'unavailable'],
  ])('with status %i has its kind and the message of the provider', async (status, type, kind) => {
    const headers: Record<string, string> = status === 429 ? { 'Retry-After': '7' } : {};
    const error = await callForError(provider, 'text', sent(status, errorText(provider, type, 'not\n like this'), headers));
    const wait = status === 429 ? { retry_after_ms: 7000 } : {};
    expect(error).toEqual({ kind, status, message: `${provider}:test-model: status ${status}: not like this`, ...wait });
  });

  it('that is not JSON is quoted up to a limit', async () => {
    for (const body of ['<html><h1>502 Bad\r\nGateway</h1></html>', '', '[]', '\u0001']) {
      const { kind, status, message } = await callForError(provider, 'text', sent(502, body));
      expect([kind, status, message.includes('status 502'), message.includes('\n')]).toEqual(['unavailable', 502, true, false]);
    }
    const { message } = await callForError(provider, 'text', sent(400, errorText(provider, 'x', 'é'.repeat(5000))));
    expect(message.length).toBe(`${provider}:test-model: `.length + 500);
    expect((await callForError(provider, 'text', sent(400, 'x'.repeat(1 << 17)))).message).toBe(`${provider}:test-model: status 400`);
  });

  it('follows an unexpected response', async () => {
    for (const body of ['[]', '{}', 'null', '42', 'hello', '{"choices":[],"content":7,"message":null,"done":true}']) {
      expect((await callForError(provider, 'text', sent(200, body))).kind, body).toBe('invalid');
    }
    expect((await callForError(provider, 'text', sent(200, responseText(provider, '')))).message).toMatch(/unusable answer: it is empty$/);
    expect((await callForError(provider, 'text', { bytes: new TextEncoder().encode('nonsense\r\n\r\n') })).kind).toBe('unavailable');
    const moved = await callForError(provider, 'text', sent(302, '', { Location: '/elsewhere' }));
    expect([moved.kind, moved.status], 'the key must not be forwarded').toEqual(['refused', 302]);
  });

  it('follows an incomplete response', async () => {
    const body = responseText(provider, '{"a":1}');
    for (let cut = 1; cut <= body.length; cut += 7) {
      for (const { bytes } of [sent(200, body), untilTheEnd(body)]) {
        const { kind } = await callForError(provider, 'text', { bytes: bytes.subarray(0, bytes.length - cut) });
        expect(kind, `without ${cut}`).toBe('unavailable');
      }
    }
  });

  it('follows a response that is too long, streamed or not', async () => {
    const long = 'x'.repeat(MAX_RESPONSE_BYTES);
    const { address } = await server([sent(200, responseText(provider, long)), sent(200, streamText(provider, [long]))]);
    for (const tell of [undefined, () => {}]) {
      const error = failure(await modelChain(1, modelConfig(provider, address)).answer(call('text'), tell));
      expect([error.kind, error.message.includes('it exceeds')]).toEqual(['invalid', true]);
    }
  });

  it('follows truncated JSON, but not a truncated text', async () => {
    const half = sent(200, JSON.stringify(responseBody(provider, '{"a":', provider === 'anthropic' ? 'max_tokens' : 'length')));
    for (const mode of ['json', 'json_strict']) expect((await callForError(provider, mode, half)).message).toMatch(/truncated/);
    const { address } = await server([half]);
    expect(reply(await modelChain(1, modelConfig(provider, address)).answer(call('text')))['text']).toBe('{"a":');
  });

  it('follows a timeout', async () => {
    for (const bytes of [new Uint8Array(), untilTheEnd(streamText(provider, ['He'])).bytes.subarray(0, 120)]) {
      const { address } = await server([{ bytes, stays: true }]);
      const error = failure(await modelChain(3, modelConfig(provider, address)).answer(call('text', {}, 150), () => {}));
      expect([error.kind, error.message]).toEqual(['timeout', expect.stringMatching(/no answer within 1\d\d ms$/)]);
    }
  });
});

it('reports a refusal and calls no other model', async () => {
  const refused = { choices: [{ message: { content: null, refusal: 'I cannot help with that.' }, finish_reason: 'stop' }] };
  const bodies = [refused, responseBody('openai', 'Well', 'content_filter')];
  for (const body of bodies) {
    const { address, got } = await server([sent(200, JSON.stringify(body))]);
    const model = modelConfig('openai', address);
    const error = failure(await modelChain(3, model, model).answer(call('json')));
    expect([error.kind, error.message.includes('refused to answer'), got.length]).toEqual(['refused', true, 1]);
  }
  const { kind } = await callForError('anthropic', 'text', sent(200, JSON.stringify(responseBody('anthropic', 'Well', 'refusal'))));
  expect(kind).toBe('refused');
});

it('suggests causes of a failed connection', async () => {
  const { address, close } = await server([]);
  close();
  const { kind, message } = failure(await modelChain(1, modelConfig('openai', address)).answer(call('text')));
  expect([kind, message]).toEqual(['unavailable', expect.stringMatching(/unreachable: .*CORS/)]);
});

it('reads the header Retry-After', () => {
  const now = 784_111_777_000;
  const of = (text: string) => retryAfter(new Headers({ 'retry-after': text }), now);
  expect(['7', ' 1.5 ', '0', 'Sun, 06 Nov 1994 08:49:40 GMT', 'Sun, 06 Nov 1994 08:49:00 GMT'].map(of)).toEqual([7000, 1500, 0, 3000, 0]);
  expect(['-3', '1e99', 'soon', '0x10', ''].map(of)).toEqual(Array.from({ length: 5 }));
});

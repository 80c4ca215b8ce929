import { describe, expect, it } from 'vitest';
import { sent, untilTheEnd } from '../loopback.mjs';
import { modelConfig, call, failure, KEY, Listener, modelChain, reply, server } from './helpers';
import { ALL, responseText, errorText, streamText } from './provider';

const MARK = '[secret:TEST_KEY]';

describe.each(ALL)('a key that %s echoes', (provider) => {
  it('is redacted in answers and errors', async () => {
    const echo = `your key is ${KEY}, or ${btoa(KEY)}.`;
    const { address } = await server([sent(200, responseText(provider, echo)), sent(401, errorText(provider, 'x', echo))]);
    const chain = modelChain(1, modelConfig(provider, address));
    expect(reply(await chain.answer(call('text')))['text']).toBe(`your key is ${MARK}, or ${MARK}.`);
    const { message } = failure(await chain.answer(call('text')));
    expect(message).toBe(`${provider}:test-model: status 401: your key is ${MARK}, or ${MARK}.`);
  });

  it('is redacted before the message is truncated', async () => {
    const { address } = await server([sent(400, errorText(provider, 'x', 'x'.repeat(480) + KEY))]);
    const { message } = failure(await modelChain(1, modelConfig(provider, address)).answer(call('text')));
    expect([message.includes(KEY.slice(0, 6)), message.includes('x[sec')]).toEqual([false, true]);
  });

  it('is redacted in model names and in answers that are not JSON', async () => {
    const named = responseText(provider, 'x').replace('test-model-1', KEY);
    const { address } = await server([sent(200, named), sent(200, `${KEY} is no JSON`)]);
    const chain = modelChain(1, modelConfig(provider, address));
    expect(reply(await chain.answer(call('text')))['model']).toBe(MARK);
    expect(failure(await chain.answer(call('text'))).message).toMatch(/unusable answer: it is not JSON$/);
  });

  it('is redacted if it is split between deltas', async () => {
    const text = `é ${KEY}${KEY} sk-test-01 ${KEY}!`;
    const expected = `é ${MARK}${MARK} sk-test-01 ${MARK}!`;
    for (let at = 0; at <= text.length; at++) {
      const { address } = await server([untilTheEnd(streamText(provider, [text.slice(0, at), text.slice(at)]))]);
      const listener = new Listener();
      const answer = reply(await modelChain(1, modelConfig(provider, address)).answer(call('text'), listener.onToken));
      expect([answer['text'], listener.visibleText], `${at}`).toEqual([expected, expected]);
    }
  });

  it('is not shown if the stream ends within it', async () => {
    const body = streamText(provider, ['x', KEY.slice(0, 9)]);
    const { address } = await server([untilTheEnd(body.slice(0, body.indexOf(KEY.slice(0, 9)) + 60))]);
    const listener = new Listener();
    failure(await modelChain(1, modelConfig(provider, address)).answer(call('text'), listener.onToken));
    expect(listener.visibleText).toBe('x');
  });
});

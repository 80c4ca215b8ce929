import { describe, expect, it } from 'vitest';
import { sent, untilTheEnd } from '../loopback.mjs';
import { access, call, failure, KEY, Listener, models, reply, server } from './helpers';
import { ALL, answer, errorOf, stream } from './provider';

const MARK = '[secret:TEST_KEY]';

describe.each(ALL)('a key that %s gives back', (provider) => {
  it('is struck out of an answer and an error', async () => {
    const echo = `your key is ${KEY}, or ${btoa(KEY)}.`;
    const { address } = await server([sent(200, answer(provider, echo)), sent(401, errorOf(provider, 'x', echo))]);
    const asked = models(1, access(provider, address));
    expect(reply(await asked.answer(call('text')))['text']).toBe(`your key is ${MARK}, or ${MARK}.`);
    const { message } = failure(await asked.answer(call('text')));
    expect(message).toBe(`${provider}:test-model: status 401: your key is ${MARK}, or ${MARK}.`);
  });

  it('is struck out before the message is cut', async () => {
    const { address } = await server([sent(400, errorOf(provider, 'x', 'x'.repeat(480) + KEY))]);
    const { message } = failure(await models(1, access(provider, address)).answer(call('text')));
    expect([message.includes(KEY.slice(0, 6)), message.includes('x[sec')]).toEqual([false, true]);
  });

  it('is struck out of the name of a model and of an answer that is no JSON', async () => {
    const named = answer(provider, 'x').replace('test-model-1', KEY);
    const { address } = await server([sent(200, named), sent(200, `${KEY} is no JSON`)]);
    const asked = models(1, access(provider, address));
    expect(reply(await asked.answer(call('text')))['model']).toBe(MARK);
    expect(failure(await asked.answer(call('text'))).message).toMatch(/unusable answer: it is not JSON$/);
  });

  it('is struck out when it comes in two pieces', async () => {
    const text = `é ${KEY}${KEY} sk-test-01 ${KEY}!`;
    const expected = `é ${MARK}${MARK} sk-test-01 ${MARK}!`;
    for (let at = 0; at <= text.length; at++) {
      const { address } = await server([untilTheEnd(stream(provider, [text.slice(0, at), text.slice(at)]))]);
      const listener = new Listener();
      const replied = reply(await models(1, access(provider, address)).answer(call('text'), listener.tell));
      expect([replied['text'], listener.shown], `${at}`).toEqual([expected, expected]);
    }
  });

  it('is not shown of an attempt that breaks off within it', async () => {
    const body = stream(provider, ['x', KEY.slice(0, 9)]);
    const { address } = await server([untilTheEnd(body.slice(0, body.indexOf(KEY.slice(0, 9)) + 60))]);
    const listener = new Listener();
    failure(await models(1, access(provider, address)).answer(call('text'), listener.tell));
    expect(listener.shown).toBe('x');
  });
});

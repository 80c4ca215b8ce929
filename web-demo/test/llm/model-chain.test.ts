import { describe, expect, it } from 'vitest';
import { baseUrl, findConfigProblem, type ModelConfig } from '../../src/effects/llm/model-config';
import { ModelError } from '../../src/effects/llm/model-error';
import { RetryState } from '../../src/effects/llm/retry';
import { sent, untilTheEnd } from '../loopback.mjs';
import { access, call, failure, Listener, models, reply, server } from './helpers';
import { answer, errorOf, stream } from './provider';

const fine = (text: string) => sent(200, answer('openai', text));
const busy = (headers = {}) => sent(429, errorOf('openai', 'rate_limit_error', 'busy'), headers);

describe('the same model', () => {
  it('is asked again when it is busy or out of service', async () => {
    const { address, got } = await server([busy(), sent(503, ''), fine('third')]);
    expect(reply(await models(3, access('openai', address)).answer(call('text')))['text']).toBe('third');
    expect(got.length).toBe(3);
    const busyEver = await server([busy()]);
    expect(failure(await models(3, access('openai', busyEver.address)).answer(call('text'))).kind).toBe('limited');
    expect(busyEver.got.length).toBe(3);
  });

  it('is not asked again when it would fail again, or asks for more time than there is', async () => {
    for (const first of [sent(401, ''), busy({ 'Retry-After': '3600' })]) {
      const { address, got } = await server([first, fine('second')]);
      failure(await models(3, access('openai', address)).answer(call('text')));
      expect(got.length).toBe(1);
    }
  });

  it('is given the time that it asks for', async () => {
    const { address } = await server([busy({ 'Retry-After': '0.05' }), fine('second')]);
    const begin = performance.now();
    expect(reply(await models(2, access('openai', address)).answer(call('text')))['text']).toBe('second');
    expect(performance.now() - begin).toBeGreaterThan(49);
  });
});

describe('the next model', () => {
  it('is asked when one cannot answer, in the order in which they are named', async () => {
    const [first, second, third] = [await server([sent(401, '')]), await server([busy()]), await server([sent(200, answer('ollama', 'third'))])];
    const order = [access('openai', first.address), access('openai', second.address), access('ollama', third.address)];
    const { text, provider } = reply(await models(2, ...order).answer(call('text')));
    expect([text, provider, first.got.length, second.got.length, third.got.length]).toEqual(['third', 'ollama', 1, 2, 1]);
    const error = failure(await models(1, ...order.slice(0, 2)).answer(call('text')));
    expect(error, 'the last one has the word').toEqual({ kind: 'limited', status: 429, message: 'openai:test-model: status 429: busy' });
  });

  it('has its share of the time when one takes too long', async () => {
    const slow = await server([{ bytes: untilTheEnd(stream('openai', ['He'])).bytes.subarray(0, 300), stays: true }]);
    const quick = await server([untilTheEnd(stream('ollama', ['qu', 'ick']))]);
    const listener = new Listener();
    const asked = models(3, access('openai', slow.address), access('ollama', quick.address));
    expect(reply(await asked.answer(call('text', {}, 600), listener.tell))['text']).toBe('quick');
    expect(listener.shown, 'what the first one wrote is taken back').toBe('quick');
  });

  it('is asked in the place of one that cannot be asked at all', async () => {
    const { address } = await server([fine('x')]);
    const nameless = { ...access('openai', address), model: ' ' };
    expect(reply(await models(3, nameless, access('openai', address)).answer(call('text')))['text']).toBe('x');
    expect(failure(await models(3, nameless).answer(call('text'))).message).toMatch(/missing model name/);
  });
});

it('waits longer each time, and never past the time there is', async () => {
  const failed = new ModelError('limited', 'retry', 'no');
  const patience = new RetryState({ limitMs: 40, endsAt: performance.now() + 40, signal: new AbortController().signal }, { attempts: 9, waitMs: 10 });
  const begin = performance.now();
  await patience.waitAfter(failed);
  const first = performance.now() - begin;
  await expect(patience.waitAfter(new ModelError('limited', 'retry', 'no', { retry_after_ms: 1000 }))).rejects.toThrow('no');
  await expect(patience.waitAfter(new ModelError('denied', 'next', 'no'))).rejects.toThrow('no');
  await expect(patience.waitAfter(failed), 'twice twice as long').rejects.toThrow('no');
  expect(first).toBeGreaterThan(9);
});

describe('the address of a model', () => {
  const at = (provider: ModelConfig['provider'], address: string): ModelConfig => ({ provider, address, model: 'm', key: 'k' });

  it('is taken as each provider writes it', () => {
    const addresses = [at('openai', ''), at('openai', ' http://a:1/v1/ '), at('anthropic', 'https://a/x/v1/'), at('ollama', '')];
    expect(addresses.map(baseUrl)).toEqual(['https://api.openai.com/v1', 'http://a:1/v1', 'https://a/x', 'http://127.0.0.1:11434']);
    expect(addresses.map(findConfigProblem)).toEqual(['', '', '', '']);
  });

  it('is nothing else than one, and what is wrong is said without it', () => {
    for (const address of ['a b', 'ftp://a', 'http://me:pw@a', 'http://a/?x=1', 'javascript:1']) {
      expect(findConfigProblem(at('openai', address))).toMatch(/^(invalid URL|the URL must not contain .*): use http/);
      expect(findConfigProblem(at('openai', address))).not.toContain(address);
    }
    expect(findConfigProblem({ ...at('openai', ''), key: '' })).toMatch(/missing API key/);
    expect(findConfigProblem({ ...at('openai', 'http://a'), key: '' })).toBe('');
    expect(findConfigProblem({ ...at('openai', ''), key: 'sk-…' })).toMatch(/copy it again/);
    expect(findConfigProblem({ ...at('ollama', ''), key: '' })).toBe('');
  });
});

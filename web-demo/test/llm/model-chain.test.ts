import { describe, expect, it } from 'vitest';
import { baseUrl, findConfigProblem, type ModelConfig } from '../../src/effects/llm/model-config';
import { ModelError } from '../../src/effects/llm/model-error';
import { RetryState } from '../../src/effects/llm/retry';
import { sent, untilTheEnd } from '../loopback.mjs';
import { modelConfig, call, failure, Listener, modelChain, reply, server } from './helpers';
import { responseText, errorText, streamText } from './provider';

const fine = (text: string) => sent(200, responseText('openai', text));
const busy = (headers = {}) => sent(429, errorText('openai', 'rate_limit_error', 'busy'), headers);

describe('the same model', () => {
  it('is retried if it is overloaded or unavailable', async () => {
    const { address, got } = await server([busy(), sent(503, ''), fine('third')]);
    expect(reply(await modelChain(3, modelConfig('openai', address)).answer(call('text')))['text']).toBe('third');
    expect(got.length).toBe(3);
    const busyEver = await server([busy()]);
    expect(failure(await modelChain(3, modelConfig('openai', busyEver.address)).answer(call('text'))).kind).toBe('limited');
    expect(busyEver.got.length).toBe(3);
  });

  it('is not retried if the error is permanent or the delay exceeds the deadline', async () => {
    for (const first of [sent(401, ''), busy({ 'Retry-After': '3600' })]) {
      const { address, got } = await server([first, fine('second')]);
      failure(await modelChain(3, modelConfig('openai', address)).answer(call('text')));
      expect(got.length).toBe(1);
    }
  });

  it('is retried after the requested delay', async () => {
    const { address } = await server([busy({ 'Retry-After': '0.05' }), fine('second')]);
    const begin = performance.now();
    expect(reply(await modelChain(2, modelConfig('openai', address)).answer(call('text')))['text']).toBe('second');
    expect(performance.now() - begin).toBeGreaterThan(49);
  });
});

describe('the next model', () => {
  it('is called if one fails, in the configured order', async () => {
    const [first, second, third] = [await server([sent(401, '')]), await server([busy()]), await server([sent(200, responseText('ollama', 'third'))])];
    const order = [modelConfig('openai', first.address), modelConfig('openai', second.address), modelConfig('ollama', third.address)];
    const { text, provider } = reply(await modelChain(2, ...order).answer(call('text')));
    expect([text, provider, first.got.length, second.got.length, third.got.length]).toEqual(['third', 'ollama', 1, 2, 1]);
    const error = failure(await modelChain(1, ...order.slice(0, 2)).answer(call('text')));
    expect(error, 'the last one has the word').toEqual({ kind: 'limited', status: 429, message: 'openai:test-model: status 429: busy' });
  });

  it('keeps its share of the deadline if one times out', async () => {
    const slow = await server([{ bytes: untilTheEnd(streamText('openai', ['He'])).bytes.subarray(0, 300), stays: true }]);
    const quick = await server([untilTheEnd(streamText('ollama', ['qu', 'ick']))]);
    const listener = new Listener();
    const chain = modelChain(3, modelConfig('openai', slow.address), modelConfig('ollama', quick.address));
    expect(reply(await chain.answer(call('text', {}, 600), listener.onToken))['text']).toBe('quick');
    expect(listener.visibleText, 'what the first one wrote is taken back').toBe('quick');
  });

  it('is called instead of an invalid configuration', async () => {
    const { address } = await server([fine('x')]);
    const nameless = { ...modelConfig('openai', address), model: ' ' };
    expect(reply(await modelChain(3, nameless, modelConfig('openai', address)).answer(call('text')))['text']).toBe('x');
    expect(failure(await modelChain(3, nameless).answer(call('text'))).message).toMatch(/missing model name/);
  });
});

it('doubles delays and never exceeds the deadline', async () => {
  const error = new ModelError('limited', 'retry', 'no');
  const retries = new RetryState({ limitMs: 40, endsAt: performance.now() + 40, signal: new AbortController().signal }, { attempts: 9, waitMs: 10 });
  const begin = performance.now();
  await retries.waitAfter(error);
  const first = performance.now() - begin;
  await expect(retries.waitAfter(new ModelError('limited', 'retry', 'no', { retry_after_ms: 1000 }))).rejects.toThrow('no');
  await expect(retries.waitAfter(new ModelError('denied', 'next', 'no'))).rejects.toThrow('no');
  await expect(retries.waitAfter(error), 'twice twice as long').rejects.toThrow('no');
  expect(first).toBeGreaterThan(9);
});

describe('the base URL of a model', () => {
  const at = (provider: ModelConfig['provider'], address: string): ModelConfig => ({ provider, address, model: 'm', key: 'k' });

  it('is normalised by provider', () => {
    const addresses = [at('openai', ''), at('openai', ' http://a:1/v1/ '), at('anthropic', 'https://a/x/v1/'), at('ollama', '')];
    expect(addresses.map(baseUrl)).toEqual(['https://api.openai.com/v1', 'http://a:1/v1', 'https://a/x', 'http://127.0.0.1:11434']);
    expect(addresses.map(findConfigProblem)).toEqual(['', '', '', '']);
  });

  it('must be a plain URL, which errors do not quote', () => {
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

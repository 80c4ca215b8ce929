import { describe, expect, it } from 'vitest';
import type { Provider } from '../../src/effects/llm/model-config';
import type { EffectOutcome } from '../../src/effects/outcome';
import { chunked, untilTheEnd, type Sent } from '../loopback.mjs';
import { modelConfig, call, failure, Listener, modelChain, reply, server } from './helpers';
import { ALL, errorText, streamText } from './provider';

const PIECES = ['Gr', 'üße 🙂', '\n an "alle"', '!'];
const WHOLE = PIECES.join('');
const CONCURRENCY = 16;
// Thousands of calls, on machines that may be busy.
const TEST_TIMEOUT_MS = 120_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Makes one call per response. */
async function each(provider: Provider, answers: Sent[], check: (index: number, answer: EffectOutcome, shown: string) => void) {
  const { address, got } = await server(answers);
  const all = answers.keys();
  const ask = async () => {
    for (const index of all) {
      const listener = new Listener();
      const answer = await modelChain(1, modelConfig(provider, `${address}/at/${index}`)).answer(call('text'), listener.onToken);
      check(index, answer, listener.visibleText);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, ask));
  expect(got.length).toBe(answers.length);
}

describe.each(ALL)('a streamed answer of %s', (provider) => {
  it('is streamed and read like a complete one', async () => {
    const { address, got } = await server([untilTheEnd(streamText(provider, PIECES))]);
    const listener = new Listener();
    const { text, model, usage } = reply(await modelChain(1, modelConfig(provider, address)).answer(call('text'), listener.onToken));
    expect([text, model, usage]).toEqual([WHOLE, 'test-model-1', { input_tokens: 12, output_tokens: 7 }]);
    expect(listener.visibleText).toBe(WHOLE);
    expect(listener.tokens.length).toBeGreaterThan(1);
    expect(listener.tokens[0]).toEqual({ effect: 3, text: 'Gr' });
    const body = JSON.parse(got[0]?.body ?? '') as { stream: boolean; stream_options?: object };
    expect([body.stream, body.stream_options]).toEqual([true, provider === 'openai' ? { include_usage: true } : undefined]);
  });

  it('is an error if the connection ends early, at any position', async () => {
    const whole = untilTheEnd(streamText(provider, PIECES)).bytes;
    // An answer that the model has ended is whole, even without the line break behind its end.
    const lines = new TextDecoder('latin1').decode(whole);
    const last = lines.indexOf('\n', lines.search(/"finish_reason":"stop"|"stop_reason":"end_turn"|"done_reason":"stop"/));
    const cuts = Array.from({ length: whole.length + 1 }, (_, end) => ({ bytes: whole.subarray(0, end) }));
    await each(provider, cuts, (end, answer, shown) => {
      if (end >= last) {
        expect([reply(answer)['text'], shown]).toEqual([WHOLE, WHOLE]);
        return;
      }
      expect(failure(answer).kind, `cut at ${end}`).toBe('unavailable');
      expect(WHOLE.startsWith(shown), `${end}: ${shown}`).toBe(true);
    });
  }, TEST_TIMEOUT_MS);

  it('may be split at any position, with either line ending', async () => {
    const lines = streamText(provider, PIECES);
    for (const body of [lines, lines.replaceAll('\n', '\r\n')].map(bytesOf)) {
      const splits = Array.from({ length: body.length + 1 }, (_, at) => chunked([body.subarray(0, at), body.subarray(at)]));
      await each(provider, splits, (at, answer, shown) => {
        const { text, usage } = reply(answer);
        expect([text, shown, usage], `${at}`).toEqual([WHOLE, WHOLE, { input_tokens: 12, output_tokens: 7 }]);
      });
    }
    const bytes = [...bytesOf(lines)].map((it) => new Uint8Array([it]));
    await each(provider, [chunked(bytes)], (_, answer) => expect(reply(answer)['text']).toBe(WHOLE));
  }, TEST_TIMEOUT_MS);

  it('is withdrawn and retried if it ends early', async () => {
    const body = streamText(provider, PIECES);
    const { address, got } = await server([untilTheEnd(body.slice(0, body.indexOf('alle'))), untilTheEnd(body)]);
    const listener = new Listener();
    expect(reply(await modelChain(2, modelConfig(provider, address)).answer(call('text'), listener.onToken))['text']).toBe(WHOLE);
    const reset = listener.tokens.findIndex((it) => 'reset' in it);
    const text = (tokens: typeof listener.tokens) => tokens.map((it) => ('text' in it ? it.text : '')).join('');
    expect(listener.tokens[reset]).toEqual({ effect: 3, reset: true });
    expect([text(listener.tokens.slice(0, reset)), text(listener.tokens.slice(reset))]).toEqual(['Grüße 🙂', WHOLE]);
    expect(listener.visibleText).toBe(WHOLE);
    expect(got.length).toBe(2);
  });

  it('fails with an error reported within it', async () => {
    const whole = streamText(provider, ['Gr']);
    const begun = whole.slice(0, whole.lastIndexOf('\n', whole.indexOf('"Gr"')) + 1);
    const error = errorText(provider, 'rate_limit_error', 'too much');
    const { address } = await server([untilTheEnd(provider === 'ollama' ? `${begun}${error}\n` : `${begun}data: ${error}\n\n`)]);
    const failed = failure(await modelChain(1, modelConfig(provider, address)).answer(call('text'), () => {}));
    expect(failed.message).toMatch(/too much$/);
    expect(failed.kind).toBe(provider === 'ollama' ? 'unavailable' : 'limited');
  });

  it('is not requested without an observer', async () => {
    const { address, got } = await server([untilTheEnd(streamText(provider, PIECES)), untilTheEnd(streamText(provider, PIECES))]);
    const chain = modelChain(1, modelConfig(provider, address));
    await chain.answer(call('text'));
    await chain.answer({ ...call('text'), stream: false }, () => {});
    expect(got.map((it) => (JSON.parse(it.body) as { stream?: boolean }).stream ?? false)).toEqual([false, false]);
  });

  it('with invalid UTF-8 is unusable', async () => {
    const bytes = bytesOf(streamText(provider, ['é']));
    bytes[bytes.indexOf(0xc3) + 1] = 0x22;
    const { address } = await server([untilTheEnd(bytes)]);
    expect(failure(await modelChain(1, modelConfig(provider, address)).answer(call('text'), () => {})).message).toMatch(/it is not UTF-8$/);
  });
});

it('joins surrogate halves of two deltas and replaces a lone one', async () => {
  const halves = streamText('openai', ['a', 'b', 'c']).replace('"a"', '"\\ud83d"').replace('"b"', '"\\ude42"').replace('"c"', '"\\ud83d"');
  const { address } = await server([untilTheEnd(halves)]);
  const { text } = reply(await modelChain(1, modelConfig('openai', address)).answer(call('text'), () => {}));
  expect(text).toBe('🙂\ufffd');
});

import { describe, expect, it } from 'vitest';
import type { Provider } from '../../src/effects/llm/model-config';
import type { EffectOutcome } from '../../src/effects/outcome';
import { chunked, untilTheEnd, type Sent } from '../loopback.mjs';
import { access, call, failure, Listener, models, reply, server } from './helpers';
import { ALL, errorOf, stream } from './provider';

const PIECES = ['Gr', 'üße 🙂', '\n an "alle"', '!'];
const WHOLE = PIECES.join('');
const AT_ONCE = 16;
// Thousands of calls, on machines that may have other things to do.
const PATIENCE_MS = 120_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Asks once for each of the answers. */
async function each(provider: Provider, answers: Sent[], check: (index: number, answer: EffectOutcome, shown: string) => void) {
  const { address, got } = await server(answers);
  const all = answers.keys();
  const ask = async () => {
    for (const index of all) {
      const listener = new Listener();
      const answer = await models(1, access(provider, `${address}/at/${index}`)).answer(call('text'), listener.tell);
      check(index, answer, listener.shown);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  expect(got.length).toBe(answers.length);
}

describe.each(ALL)('an answer of %s in pieces', (provider) => {
  it('is shown and read like a whole one', async () => {
    const { address, got } = await server([untilTheEnd(stream(provider, PIECES))]);
    const listener = new Listener();
    const { text, model, usage } = reply(await models(1, access(provider, address)).answer(call('text'), listener.tell));
    expect([text, model, usage]).toEqual([WHOLE, 'test-model-1', { input_tokens: 12, output_tokens: 7 }]);
    expect(listener.shown).toBe(WHOLE);
    expect(listener.heard.length).toBeGreaterThan(1);
    expect(listener.heard[0]).toEqual({ effect: 3, text: 'Gr' });
    const body = JSON.parse(got[0]?.body ?? '') as { stream: boolean; stream_options?: object };
    expect([body.stream, body.stream_options]).toEqual([true, provider === 'openai' ? { include_usage: true } : undefined]);
  });

  it('is none when its connection ends before its end, whatever the place', async () => {
    const whole = untilTheEnd(stream(provider, PIECES)).bytes;
    const cuts = Array.from({ length: whole.length + 1 }, (_, end) => ({ bytes: whole.subarray(0, end) }));
    await each(provider, cuts, (end, answer, shown) => {
      if (end === whole.length) {
        expect([reply(answer)['text'], shown]).toEqual([WHOLE, WHOLE]);
        return;
      }
      expect(failure(answer).kind, `cut at ${end}`).toBe('unavailable');
      expect(WHOLE.startsWith(shown), `${end}: ${shown}`).toBe(true);
    });
  }, PATIENCE_MS);

  it('may come in two parts with either line end, whatever the place between them', async () => {
    const lines = stream(provider, PIECES);
    for (const body of [lines, lines.replaceAll('\n', '\r\n')].map(bytesOf)) {
      const splits = Array.from({ length: body.length + 1 }, (_, at) => chunked([body.subarray(0, at), body.subarray(at)]));
      await each(provider, splits, (at, answer, shown) => {
        const { text, usage } = reply(answer);
        expect([text, shown, usage], `${at}`).toEqual([WHOLE, WHOLE, { input_tokens: 12, output_tokens: 7 }]);
      });
    }
    const bytes = [...bytesOf(lines)].map((it) => new Uint8Array([it]));
    await each(provider, [chunked(bytes)], (_, answer) => expect(reply(answer)['text']).toBe(WHOLE));
  }, PATIENCE_MS);

  it('is taken back when it breaks off, and made again', async () => {
    const body = stream(provider, PIECES);
    const { address, got } = await server([untilTheEnd(body.slice(0, body.indexOf('alle'))), untilTheEnd(body)]);
    const listener = new Listener();
    expect(reply(await models(2, access(provider, address)).answer(call('text'), listener.tell))['text']).toBe(WHOLE);
    const reset = listener.heard.findIndex((it) => 'reset' in it);
    const text = (tokens: typeof listener.heard) => tokens.map((it) => ('text' in it ? it.text : '')).join('');
    expect(listener.heard[reset]).toEqual({ effect: 3, reset: true });
    expect([text(listener.heard.slice(0, reset)), text(listener.heard.slice(reset))]).toEqual(['Grüße 🙂', WHOLE]);
    expect(listener.shown).toBe(WHOLE);
    expect(got.length).toBe(2);
  });

  it('ends with an error that is reported within it', async () => {
    const whole = stream(provider, ['Gr']);
    const begun = whole.slice(0, whole.lastIndexOf('\n', whole.indexOf('"Gr"')) + 1);
    const error = errorOf(provider, 'rate_limit_error', 'too much');
    const { address } = await server([untilTheEnd(provider === 'ollama' ? `${begun}${error}\n` : `${begun}data: ${error}\n\n`)]);
    const failed = failure(await models(1, access(provider, address)).answer(call('text'), () => {}));
    expect(failed.message).toMatch(/too much$/);
    expect(failed.kind).toBe(provider === 'ollama' ? 'unavailable' : 'limited');
  });

  it('is not asked for in pieces when nobody follows it', async () => {
    const { address, got } = await server([untilTheEnd(stream(provider, PIECES)), untilTheEnd(stream(provider, PIECES))]);
    const asked = models(1, access(provider, address));
    await asked.answer(call('text'));
    await asked.answer({ ...call('text'), stream: false }, () => {});
    expect(got.map((it) => (JSON.parse(it.body) as { stream?: boolean }).stream ?? false)).toEqual([false, false]);
  });

  it('that is no UTF-8, or no end of half a character, cannot be used', async () => {
    const bytes = bytesOf(stream(provider, ['é']));
    bytes[bytes.indexOf(0xc3) + 1] = 0x22;
    const { address } = await server([untilTheEnd(bytes)]);
    expect(failure(await models(1, access(provider, address)).answer(call('text'), () => {})).message).toMatch(/it is not UTF-8$/);
  });
});

it('joins halves of a character that come in two pieces, and replaces one that stays alone', async () => {
  const halves = stream('openai', ['a', 'b', 'c']).replace('"a"', '"\\ud83d"').replace('"b"', '"\\ude42"').replace('"c"', '"\\ud83d"');
  const { address } = await server([untilTheEnd(halves)]);
  const { text } = reply(await models(1, access('openai', address)).answer(call('text'), () => {}));
  expect(text).toBe('🙂\ufffd');
});

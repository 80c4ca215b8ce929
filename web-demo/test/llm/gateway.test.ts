import { describe, expect, it } from 'vitest';
import type { Provider } from '../../src/effects/llm/model-config';
import { ReasoningSplitter } from '../../src/effects/llm/reasoning';
import { untilTheEnd } from '../loopback.mjs';
import { call, Listener, modelChain, modelConfig, server } from './helpers';

/** What gateways and compatible servers send, and what is made of it: the name, the provider, the body, and the answer (thoughts) or error. */
type Shape = [name: string, provider: Provider, body: string, made: string];

const events = (...all: unknown[]) => all.map((it) => `data: ${typeof it === 'string' ? it : JSON.stringify(it)}\n\n`).join('');
const delta = (delta: object, finish_reason: string | null = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
const text = (content: unknown) => delta({ content });
const message = (message: object) => JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
const line = (message: object, done: boolean) => JSON.stringify({ message, done });

/** Of answers that are asked for as streams. */
const STREAMED: Shape[] = [
  ['think tags', 'openai', events(text('<think>\nHm.\n</think>\n\nHello.'), '[DONE]'), 'Hello. (Hm.)'],
  ['think tags split over chunks', 'openai', events(text('<th'), text('ink>Hm.</thi'), text('nk>\nHel'), text('lo.'), '[DONE]'), 'Hello. (Hm.)'],
  ['only the closing tag', 'openai', events(text('Hm.'), text('</think>Hello.'), '[DONE]'), 'Hello. (Hm.)'],
  ['a tag that is never closed', 'openai', events(text('<think>Hm'), '[DONE]'), 'invalid: it has reasoning but no answer'],
  ['reasoning_content', 'openai', events(delta({ reasoning_content: 'Hm.' }), text('Hello.'), '[DONE]'), 'Hello. (Hm.)'],
  ['reasoning details', 'openai', events(delta({ reasoning_details: [{ text: 'Hm.' }] }), text('Hello.'), '[DONE]'), 'Hello. (Hm.)'],
  ['thinking blocks', 'anthropic', events(
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello.' } },
    { type: 'message_stop' },
  ), 'Hello. (Hm.)'],
  ['a thinking member', 'ollama', `${line({ content: '', thinking: 'Hm.' }, false)}\n${line({ content: 'Hello.' }, true)}\n`, 'Hello. (Hm.)'],
  ['content in parts', 'openai', events(text([{ type: 'text', text: 'Hel' }]), text([{ type: 'text', text: 'lo.' }]), '[DONE]'), 'Hello.'],
  ['finish_reason without [DONE]', 'openai', events(text('Hello.'), delta({}, 'stop')), 'Hello.'],
  ['neither finish_reason nor [DONE]', 'openai', events(text('Hello.')), 'unavailable: '],
  ['a stop_reason without message_stop', 'anthropic', events(
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  ), 'Hello.'],
  ['a last line without its end', 'ollama', line({ content: 'Hello.' }, true), 'Hello.'],
  ['[DONE] without its end', 'openai', events(text('Hello.'), '[DONE]').trimEnd(), 'Hello.'],
  ['a byte order mark before events', 'openai', `\ufeff${events(text('Hello.'), '[DONE]')}`, 'Hello.'],
  ['a byte order mark before lines', 'ollama', `\ufeff${line({ content: 'Hello.' }, true)}\n`, 'Hello.'],
  ['a document for a stream', 'openai', message({ content: 'Hello.' }), 'Hello.'],
  ['a document over lines for a stream', 'ollama', JSON.stringify({ message: { content: 'Hello.' }, done: true }, null, 2), 'Hello.'],
  ['an error for a stream', 'openai', '{"error":{"message":"no capacity"}}', 'unavailable: the answer was aborted: no capacity'],
  ['signs of life', 'openai', `: on it\n\ndata:\n\n${events(text('Hello.'), '[DONE]')}`, 'Hello.'],
  ['an event of an error', 'openai', 'event: error\ndata: no capacity\n\n', 'unavailable: the answer was aborted: no capacity'],
  ['two choices', 'openai', events(text('A'), { choices: [{ index: 1, delta: { content: 'B' } }] }, '[DONE]'), 'invalid: it has several choices'],
];

/** Of answers that are asked for at once. */
const WHOLE: Shape[] = [
  ['think tags', 'openai', message({ content: '<think>Hm.</think>Hello.' }), 'Hello. (Hm.)'],
  ['reasoning', 'openai', message({ content: 'Hello.', reasoning: 'Hm.' }), 'Hello. (Hm.)'],
  ['thinking blocks', 'anthropic', JSON.stringify({ content: [{ type: 'thinking', thinking: 'Hm.' }, { type: 'text', text: 'Hello.' }] }), 'Hello. (Hm.)'],
  ['a thinking member', 'ollama', line({ content: 'Hello.', thinking: 'Hm.' }, true), 'Hello. (Hm.)'],
  ['content in parts', 'openai', message({ content: [{ type: 'text', text: 'Hel' }, { type: 'text', text: 'lo.' }] }), 'Hello.'],
  ['a byte order mark', 'openai', `\ufeff${message({ content: 'Hello.' })}`, 'Hello.'],
  ['a stream for a document', 'openai', events(text('Hel'), text('lo.'), '[DONE]'), 'Hello.'],
  ['lines for a document', 'ollama', `${line({ content: 'Hel' }, false)}\n${line({ content: 'lo.' }, true)}\n`, 'Hello.'],
  ['two choices', 'openai', JSON.stringify({ choices: [{ index: 0, message: { content: 'A' } }, { index: 1, message: { content: 'B' } }] }), 'invalid: it has several choices'],
];

async function play([name, provider, body, made]: Shape, listener?: Listener) {
  const { address, got } = await server([untilTheEnd(body)]);
  const outcome = await modelChain(1, modelConfig(provider, address)).answer(call('text'), listener?.onToken);
  expect(got.length).toBe(1);
  if ('error' in outcome) {
    const message = outcome.error.message.replace(/^\w+:test-model: (unusable answer: )?/, '');
    return expect(`${outcome.error.kind}: ${message}`, name).toContain(made);
  }
  const { text, reasoning } = outcome.ok as { text?: string; reasoning?: string };
  expect(`${text ?? ''}${reasoning === undefined ? '' : ` (${reasoning})`}`, name).toBe(made);
  if (listener) expect(listener.visibleText, `${name}: what is shown while it streams`).toBe(text);
}

describe('an answer as gateways send it', () => {
  it.each(STREAMED)('streamed: %s', (...shape) => play(shape, new Listener()));
  it.each(WHOLE)('at once: %s', (...shape) => play(shape));
});

it('separates thoughts as the engine does, wherever the text is split', () => {
  for (const [whole, answer, reasoning] of [
    [' \n<THINK>Hm.</Think>Hello.', 'Hello.', 'Hm.'],
    ['<think>One.</think>A.\n<think>Two.</think>B.', 'A.\nB.', 'One.\nTwo.'],
    ['Hello.\n<think>Hm', 'Hello.\n', 'Hm'],
    ['a <think> b', 'a <think> b', ''],
    ['Models write `<think>` and `</think>`.', 'Models write `<think>` and `</think>`.', ''],
    ['1 <thin 2 </thi', '1 <thin 2 </thi', ''],
    ['', '', ''],
  ]) {
    for (const size of [1, 2, 3, 100]) {
      const splitter = new ReasoningSplitter();
      for (let at = 0; at < whole!.length; at += size) splitter.push(whole!.slice(at, at + size));
      splitter.finish();
      expect([splitter.answer, splitter.reasoning], `${whole} by ${size}`).toEqual([answer, reasoning]);
    }
  }
});

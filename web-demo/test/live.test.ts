import { afterEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnEngine, type TurnObserver } from '../src/turn-runner';
import { ExtensionRunner } from '../src/effects/extension';
import { LiveEffects, type LiveAccess } from '../src/effects/live';
import type { Ask, Decision, Run } from '../src/protocol';
import { createEffectHandler, type EffectEngine } from '../src/run/effect-handler';
import type { Answer, Completion, JsonObject, Token } from '../src/types';
import { loopback, sent, untilTheEnd, type Loopback, type Sent } from './loopback.mjs';
import { responseText, streamText } from './llm/provider';

const KEY = 'sk-live-01234567';
const NO_ANSWER: Answer = { completion: '', outcome: '', delayMs: 0 };
const UNSUPPORTED = '{"error":{"kind":"unsupported","message":"outside of the pack"}}';

const servers: Loopback[] = [];
afterEach(() => servers.splice(0).forEach((it) => it.close()));

async function server(...answers: Sent[]): Promise<Loopback> {
  const started = await loopback(answers);
  servers.push(started);
  return started;
}

/** An engine whose turn requests one effect, with the pack's answer to it. */
class FakeEngine implements TurnEngine, EffectEngine {
  answers = 0;
  completions = '';

  constructor(
    private readonly asked: JsonObject,
    private readonly outcome: string,
  ) {}

  cancel = () => '';
  journal = () => '';
  restore = () => '';
  module = () => undefined;
  extensionMessages = () => [];
  completeExtension = () => NO_ANSWER;
  scriptInput = () => '';
  completeScript = () => NO_ANSWER;
  request = () => JSON.stringify(this.asked);
  now = () => 77;
  /** Like the engine: an unsupported effect is not scripted. */
  hasScript = () => !this.outcome.includes('unsupported') || String(this.asked['url']).startsWith('${STUB}');

  start(): string {
    return `{"effects":[${this.effects().join()}],"notices":[],"end":null}`;
  }

  effects(): string[] {
    return [JSON.stringify({ id: 4, key: 't/4', class: 'read', deadline_ms: 5000, stream: true, request: this.asked })];
  }

  answer(_: number, at?: number): Answer {
    this.answers++;
    return { completion: `{"id":4,"at":${at ?? 77},"outcome":${this.outcome}}`, outcome: this.outcome, delayMs: 0 };
  }

  resume(completions: string): string {
    this.completions = completions;
    return '{"effects":[],"notices":[],"end":{"writes":[]}}';
  }
}

const NO_EXTENSIONS: Pick<ExtensionRunner, 'answer'> = { answer: () => undefined };

/** Runs a turn with live models and services; returns the completion and the streamed tokens. */
async function run(engine: FakeEngine, liveAccess: LiveAccess, decision: Decision | 'stop' = 'stop') {
  const [tokens, asks] = [[] as Token[], [] as Ask[]];
  const observer: TurnObserver = { notices: () => {}, effect: () => {}, answer: () => {}, restart: () => {}, token: (it) => tokens.push(it) };
  const input = { conversation: 'main', conversationId: 'c', message: 'm', inputParams: '', reset: false, at: 0, seed: 1 };
  const models = liveAccess.models.length > 0 ? ('live' as const) : ('script' as const);
  const turn: Run = { input, parent: null, before: null, sources: { models, others: 'live', stale: {} }, liveAccess, faults: [] };
  const ask = async (it: Ask) => (asks.push(it), decision);
  const options = { engine, pack: '{}', extensions: NO_EXTENSIONS as ExtensionRunner, scripts: { answer: () => undefined }, live: async () => new LiveEffects(liveAccess), observer: observer, salt: 'apart-', ask };
  const result = await runTurn(engine, '{}', observer, createEffectHandler(turn, options));
  const [completion] = JSON.parse(engine.completions) as Completion[];
  expect(result.exchanges[0]?.completion).toEqual(completion);
  return { completion, tokens, asks, origin: result.exchanges[0]?.origin };
}

const model = { kind: 'llm', purpose: 'response_text', mode: 'text', system: 's', user: 'u', context: {}, user_text: 'u' };
const service = (url: string) => ({ kind: 'http', caller: { tool: 't' }, method: 'GET', url, headers: [], class: 'read', timeout_ms: 5000, max_bytes: 99 });
const NO_ACCESS: LiveAccess = { models: [], secrets: [] };

describe('a live chat', () => {
  it('calls the configured model and streams its answer', async () => {
    const { address } = await server(untilTheEnd(streamText('ollama', ['a', 'b'])));
    const engine = new FakeEngine(model, UNSUPPORTED);
    const { completion, tokens } = await run(engine, { models: [{ provider: 'ollama', address, model: 'm', key: '' }], secrets: [] });
    const usage = { input_tokens: 12, output_tokens: 7 };
    const ok = { kind: 'llm', text: 'ab', provider: 'ollama', model: 'test-model-1', usage };
    expect(completion).toMatchObject({ id: 4, outcome: { ok } });
    expect(tokens).toEqual([{ effect: 4, text: 'a' }, { effect: 4, text: 'b' }]);
    expect(engine.answers).toBe(0);
  });

  it('leaves models to the pack if the script answers', async () => {
    const ok = { kind: 'llm', text: 'scripted', provider: 'scripted', model: 'scripted' };
    const { completion } = await run(new FakeEngine(model, JSON.stringify({ ok })), NO_ACCESS);
    expect(completion?.outcome).toEqual({ ok });
  });

  it('calls a service that the pack does not fake', async () => {
    const { address, got } = await server(sent(200, '{"a":1.0}'));
    const engine = new FakeEngine(service(address), UNSUPPORTED);
    const { completion } = await run(engine, NO_ACCESS);
    expect(completion).toMatchObject({ id: 4, outcome: { ok: { kind: 'http', status: 200, body: '{"a":1.0}' } } });
    expect(got.length).toBe(1);
  });

  it('makes no call if the pack answers, fails, or is the target', async () => {
    const { address, got } = await server(sent(200, ''));
    const scripted = '{"ok":{"kind":"http","status":200,"body":"from the pack"}}';
    const down = '{"error":{"kind":"unavailable","message":"scripted"}}';
    const all = [[address, scripted], [address, down], ['${STUB}/a', UNSUPPORTED]] as const;
    for (const [url, outcome] of all) {
      const { completion } = await run(new FakeEngine(service(url), outcome), NO_ACCESS);
      expect(completion?.outcome).toEqual(JSON.parse(outcome));
    }
    expect(got).toEqual([]);
  });

  it('redacts API keys in responses of services and secrets in responses of models', async () => {
    const secrets = [{ name: 'crm', value: 'crm-0123456' }];
    const { address } = await server(sent(200, `${KEY} crm-0123456`), sent(200, responseText('openai', `${KEY} crm-0123456`)));
    const liveAccess: LiveAccess = { models: [{ provider: 'openai', address, model: 'm', key: ` ${KEY} ` }], secrets };
    const called = await run(new FakeEngine(service(address), UNSUPPORTED), liveAccess);
    const asked = await run(new FakeEngine({ ...model, mode: 'json' }, UNSUPPORTED), liveAccess);
    expect(JSON.stringify([called, asked])).not.toMatch(/sk-live|crm-0/);
    expect(called.completion?.outcome).toMatchObject({ ok: { body: '[secret:key of openai] [secret:crm]' } });
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnEngine, type TurnObserver } from '../src/turn-runner';
import { ExtensionRunner } from '../src/effects/extension';
import { LiveEffects, type Reach } from '../src/effects/live';
import type { Ask, Decision, Run } from '../src/protocol';
import { createEffectHandler, type EffectEngine } from '../src/run/effect-handler';
import type { Completion, JsonObject, Token } from '../src/types';
import { loopback, sent, untilTheEnd, type Loopback, type Sent } from './loopback.mjs';
import { answer, stream } from './llm/provider';

const KEY = 'sk-live-01234567';
const UNSUPPORTED = '{"error":{"kind":"unsupported","message":"outside of the pack"}}';

const servers: Loopback[] = [];
afterEach(() => servers.splice(0).forEach((it) => it.close()));

async function server(...answers: Sent[]): Promise<Loopback> {
  const started = await loopback(answers);
  servers.push(started);
  return started;
}

/** An engine whose turn asks for one thing, which its pack answers so. */
class Asks implements TurnEngine, EffectEngine {
  answers = 0;
  completions = '';

  constructor(
    private readonly request: JsonObject,
    private readonly outcome: string,
  ) {}

  abandon = () => '';
  journal = () => '';
  restore = () => '';
  module = () => undefined;
  extended = () => '';
  now = () => 77;
  /** As the engine: what it would only refuse is not scripted. */
  scripted = () => !this.outcome.includes('unsupported') || String(this.request['url']).startsWith('${STUB}');

  start(): string {
    const effect = { id: 4, key: 't/4', class: 'read', deadline_ms: 5000, stream: true, request: this.request };
    return JSON.stringify({ effects: [effect], notices: [], end: null });
  }

  answer(_: number, at?: number): string {
    this.answers++;
    return `{"completion":{"id":4,"at":${at ?? 77},"outcome":${this.outcome}},"delay_ms":0}`;
  }

  resume(completions: string): string {
    this.completions = completions;
    return '{"effects":[],"notices":[],"end":{"writes":[]}}';
  }
}

const nobodyHere: Pick<ExtensionRunner, 'answer'> = { answer: () => undefined };

/** Runs a turn with live models and services; gives what the engine was told, and what was shown of it. */
async function run(engine: Asks, reach: Reach, decision: Decision | 'stop' = 'stop') {
  const [tokens, asks] = [[] as Token[], [] as Ask[]];
  const watch: TurnObserver = { notices: () => {}, effect: () => {}, answer: () => {}, restart: () => {}, token: (it) => tokens.push(it) };
  const input = { conversation: 'main', conversationId: 'c', message: 'm', inputParams: '', reset: false, at: 0, seed: 1 };
  const models = reach.models.length > 0 ? ('live' as const) : ('script' as const);
  const turn: Run = { input, parent: null, before: null, sources: { models, others: 'live', stale: {} }, reach, faults: [] };
  const ask = async (it: Ask) => (asks.push(it), decision);
  const around = { engine, pack: '{}', extensions: nobodyHere as ExtensionRunner, live: async () => new LiveEffects(reach), observer: watch, salt: 'apart-', ask };
  const driven = await runTurn(engine, '{}', watch, createEffectHandler(turn, around));
  const [completion] = JSON.parse(engine.completions) as Completion[];
  expect(driven.exchanges[0]?.completion).toEqual(completion);
  return { completion, tokens, asks, origin: driven.exchanges[0]?.origin };
}

const model = { kind: 'llm', purpose: 'response_text', mode: 'text', system: 's', user: 'u', context: {}, user_text: 'u' };
const service = (url: string) => ({ kind: 'http', caller: { tool: 't' }, method: 'GET', url, headers: [], class: 'read', timeout_ms: 5000, max_bytes: 99 });
const nobody: Reach = { models: [], secrets: [] };

describe('a live chat', () => {
  it('asks the model that is chosen, and shows what it writes', async () => {
    const { address } = await server(untilTheEnd(stream('ollama', ['a', 'b'])));
    const engine = new Asks(model, UNSUPPORTED);
    const { completion, tokens } = await run(engine, { models: [{ provider: 'ollama', address, model: 'm', key: '' }], secrets: [] });
    const usage = { input_tokens: 12, output_tokens: 7 };
    const ok = { kind: 'llm', text: 'ab', provider: 'ollama', model: 'test-model-1', usage };
    expect(completion).toMatchObject({ id: 4, outcome: { ok } });
    expect(tokens).toEqual([{ effect: 4, text: 'a' }, { effect: 4, text: 'b' }]);
    expect(engine.answers).toBe(0);
  });

  it('leaves models to the pack when the script answers', async () => {
    const ok = { kind: 'llm', text: 'scripted', provider: 'scripted', model: 'scripted' };
    const { completion } = await run(new Asks(model, JSON.stringify({ ok })), nobody);
    expect(completion?.outcome).toEqual({ ok });
  });

  it('calls a service that the pack does not stand in for', async () => {
    const { address, got } = await server(sent(200, '{"a":1.0}'));
    const engine = new Asks(service(address), UNSUPPORTED);
    const { completion } = await run(engine, nobody);
    expect(completion).toMatchObject({ id: 4, outcome: { ok: { kind: 'http', status: 200, body: '{"a":1.0}' } } });
    expect(got.length).toBe(1);
  });

  it('calls nobody when the pack answers, fails, or is meant itself', async () => {
    const { address, got } = await server(sent(200, ''));
    const scripted = '{"ok":{"kind":"http","status":200,"body":"from the pack"}}';
    const down = '{"error":{"kind":"unavailable","message":"scripted"}}';
    const all = [[address, scripted], [address, down], ['${STUB}/a', UNSUPPORTED]] as const;
    for (const [url, outcome] of all) {
      const { completion } = await run(new Asks(service(url), outcome), nobody);
      expect(completion?.outcome).toEqual(JSON.parse(outcome));
    }
    expect(got).toEqual([]);
  });

  it('strikes the keys of models out of what services answer, and secrets out of what models answer', async () => {
    const secrets = [{ name: 'crm', value: 'crm-0123456' }];
    const { address } = await server(sent(200, `${KEY} crm-0123456`), sent(200, answer('openai', `${KEY} crm-0123456`)));
    const reach: Reach = { models: [{ provider: 'openai', address, model: 'm', key: ` ${KEY} ` }], secrets };
    const called = await run(new Asks(service(address), UNSUPPORTED), reach);
    const asked = await run(new Asks({ ...model, mode: 'json' }, UNSUPPORTED), reach);
    expect(JSON.stringify([called, asked])).not.toMatch(/sk-live|crm-0/);
    expect(called.completion?.outcome).toMatchObject({ ok: { body: '[secret:key of openai] [secret:crm]' } });
  });
});

import { describe, expect, it } from 'vitest';
import type { EffectResult, TurnObserver } from '../src/turn-runner';
import { ExtensionRunner } from '../src/effects/extension';
import { LiveEffects } from '../src/effects/live';
import { toAnswer } from '../src/effects/outcome';
import { ScriptEffects, type ScriptRunner } from '../src/effects/script';
import type { Ask, Decision, Run } from '../src/protocol';
import { createEffectHandler } from '../src/run/effect-handler';
import { FAULTS, faultsFor, type FaultName } from '../src/run/fault';
import type { Effect, JsonObject } from '../src/types';

const SILENT_OBSERVER: TurnObserver = { notices: () => {}, effect: () => {}, answer: () => {}, restart: () => {} };
const INPUT = { conversation: 'main', conversationId: 'c', message: 'm', inputParams: '', reset: false, at: 0, seed: 1 };
const NO_ACCESS = { models: [], secrets: [] };
const SCRIPTED = '{"ok":{"kind":"llm","text":"{\\"a\\":1.0}","provider":"scripted","model":"scripted"}}';

const plan = (more: Partial<Run> = {}): Run => ({
  input: INPUT,
  parent: null,
  before: null,
  sources: { models: 'script', others: 'script', stale: {} },
  liveAccess: NO_ACCESS,
  faults: [],
  ...more,
});

const llm = (user: string): JsonObject => ({ kind: 'llm', purpose: 'extract', mode: 'json', user, weight: 1 });
const recorded = (user: string, text: string, origin: 'manual' | 'script' = 'manual') => ({
  request: JSON.stringify(llm(user)),
  outcome: `{"ok":{"kind":"llm","text":"${text}"}}`,
  delayMs: 3,
  origin,
});

const NO_ANSWER = { completion: '', outcome: '', delayMs: 0 };
const NO_RUNNER: ScriptRunner = { run: () => Promise.reject(new Error('not built')), check: async () => '{"issues":[]}' };

/** Creates a handler that answers effects in order and records what a person was asked. */
function createHandler(run: Run, scripted: boolean, decision: Decision | 'stop' = 'stop', live?: Pick<LiveEffects, 'answer'>, runner: ScriptRunner = NO_RUNNER) {
  const asks: Ask[] = [];
  let requested: JsonObject = {};
  const engine = {
    hasScript: () => scripted,
    answer: (id: number) => {
      const outcome = scripted ? SCRIPTED : '{"error":{"kind":"unavailable","message":"no scripted rule answers"}}';
      return { completion: `{"id":${id},"at":10,"outcome":${outcome}}`, outcome, delayMs: 20 };
    },
    request: () => JSON.stringify(requested),
    module: () => undefined,
    extensionMessages: () => [],
    completeExtension: () => NO_ANSWER,
    scriptInput: () => '{"code":""}',
    completeScript: (text: string, output: string | undefined, failure: string) => {
      const outcome = output ?? failure;
      return { completion: `{"id":${(JSON.parse(text) as Effect).id},"at":10,"outcome":${outcome}}`, outcome, delayMs: 0 };
    },
    now: () => 10,
  };
  const extensions = { answer: () => undefined } as unknown as ExtensionRunner;
  const scripts = new ScriptEffects(async () => runner);
  const ask = async (it: Ask) => (asks.push(it), decision);
  const handleEffect = createEffectHandler(run, { engine, pack: '{}', extensions, scripts, live: async () => live ?? new LiveEffects(NO_ACCESS), observer: SILENT_OBSERVER, salt: '', ask });
  let place = 0;
  const next = async (request: JsonObject, more: Partial<Effect> = {}): Promise<EffectResult> => {
    requested = request;
    const effect = { id: place + 7, key: 'k', class: 'read', deadline_ms: 9, request, ...more } as Effect;
    const done = await handleEffect(effect, JSON.stringify(effect), place);
    if ('completion' in done) place++;
    return done;
  };
  return { next, asks };
}

function summary(done: EffectResult) {
  if (!('completion' in done)) return done;
  const { at, outcome } = done.exchange.completion;
  return { origin: done.exchange.origin, took: at - 10, text: 'ok' in outcome ? outcome.ok['text'] : outcome.error.kind };
}

describe('recorded answers of a repeated turn', () => {
  it('are reused once per equal request without any call', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], edits: [] };
    const { next, asks } = createHandler(plan({ repeat }), false, { use: 'auto' });
    expect(summary(await next(llm('two')))).toEqual({ origin: 'reused', took: 3, text: 'second' });
    expect(summary(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
    expect(asks).toEqual([]);
  });

  it('need a decision if the request has changed, which is remembered by purpose', async () => {
    const repeat = { recorded: [recorded('one', 'first')], edits: [] };
    const open = createHandler(plan({ repeat }), false, { use: 'recorded' });
    expect(summary(await open.next(llm('other')))).toEqual({ origin: 'stale', took: 0, text: 'first' });
    expect(open.asks[0]?.recorded?.request).toEqual(llm('one'));
    const sources = { models: 'script' as const, others: 'script' as const, stale: { extract: 'recorded' as const } };
    const second = createHandler(plan({ repeat, sources }), false);
    expect(summary(await second.next(llm('other')))).toMatchObject({ origin: 'stale' });
    expect(second.asks).toEqual([]);
  });

  it('are answered by the script again if it was their origin, because it may have been edited', async () => {
    const repeat = { recorded: [recorded('one', 'before', 'script')], edits: [] };
    const { next } = createHandler(plan({ repeat }), true);
    expect(summary(await next(llm('one')))).toEqual({ origin: 'script', took: 20, text: '{"a":1.0}' });
  });

  it('are not reused from the position where the branch starts', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], until: 1, edits: [] };
    const { next, asks } = createHandler(plan({ repeat, sources: { models: 'manual', others: 'script', stale: {} } }), false, {
      outcome: '{"ok":{"kind":"llm","text":"mine"}}',
      origin: 'manual',
    });
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'reused' });
    expect(summary(await next(llm('two')))).toMatchObject({ origin: 'manual', text: 'mine' });
    expect(asks).toHaveLength(1);
  });

  it('are reused regardless of the source, unless their script still answers', async () => {
    const repeat = { recorded: [recorded('one', 'first', 'script')], edits: [] };
    for (const models of ['live', 'manual', 'auto', 'script'] as const) {
      const { next, asks } = createHandler(plan({ repeat, sources: { models, others: 'script', stale: {} } }), false);
      expect(summary(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
      expect(asks).toEqual([]);
    }
    const changed = createHandler(plan({ repeat }), true);
    expect(summary(await changed.next(llm('one')))).toMatchObject({ origin: 'script', text: '{"a":1.0}' });
  });

  it('belong to the nth call of a name: an additional earlier call takes none', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], edits: [] };
    const { next, asks } = createHandler(plan({ repeat }), false, { use: 'recorded' });
    expect(summary(await next(llm('new')))).toMatchObject({ origin: 'stale', text: 'first' });
    expect(summary(await next(llm('two')))).toMatchObject({ origin: 'reused', text: 'second' });
    expect(asks.length).toBe(1);
    expect(summary(await next({ ...llm('more'), purpose: 'policy' }))).toMatchObject({ origin: 'auto' });
  });

  it('are replaced by an edit at its position only', async () => {
    const edits = [{ place: 1, decision: { outcome: '{"ok":{"kind":"llm","text":"edited"}}', origin: 'edited' as const } }];
    const { next } = createHandler(plan({ repeat: { recorded: [recorded('one', 'first')], edits } }), true);
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'reused' });
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'edited', text: 'edited' });
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'script' });
  });
});

describe('a script', () => {
  const request = { kind: 'script', language: 'python', code: 'x', input: {} };
  const runner: ScriptRunner = { run: async () => '{"ok":{"kind":"script","logs":["ran"]}}', check: async () => '{"issues":[]}' };
  const again = (origin: 'script' | 'edited') => ({ recorded: [{ request: JSON.stringify(request), outcome: '{"ok":{"kind":"script","logs":["before"]}}', delayMs: 0, origin }], edits: [] });
  const logs = (done: EffectResult) => ('completion' in done ? [done.exchange.origin, (done.exchange.completion.outcome as { ok: JsonObject }).ok['logs']] : done);

  it('runs whoever answers other effects, and again when its turn is repeated', async () => {
    for (const others of ['script', 'manual', 'live'] as const) {
      const { next } = createHandler(plan({ sources: { models: 'script', others, stale: {} } }), false, 'stop', undefined, runner);
      expect(logs(await next(request))).toEqual(['script', ['ran']]);
    }
    const { next } = createHandler(plan({ repeat: again('script') }), false, 'stop', undefined, runner);
    expect(logs(await next(request))).toEqual(['script', ['ran']]);
  });

  it('keeps an answer that a person has given', async () => {
    const { next } = createHandler(plan({ repeat: again('edited') }), false, 'stop', undefined, runner);
    expect(logs(await next(request))).toEqual(['reused', ['before']]);
  });

  it('that is delayed runs too; rules call it `script`', async () => {
    const { next } = createHandler(plan({ faults: [{ on: 'script', nth: 2, fault: { name: 'delay' } }] }), false, 'stop', undefined, runner);
    expect(logs(await next(request))).toEqual(['script', ['ran']]);
    expect(logs(await next(request))).toEqual(['fault', ['ran']]);
  });
});

describe('a search', () => {
  const request = { kind: 'knowledge', assistant: 'help', query: 'q', top_k: 5, vector_weight: 0.5 };

  it('finds nothing in a pack without sources', async () => {
    const { next } = createHandler(plan(), false);
    const done = await next(request);
    expect('completion' in done && JSON.parse(done.completion)).toEqual({
      id: 7,
      at: 10,
      outcome: { ok: { kind: 'knowledge', stats: { chunks: 0, total_length: 0, frequencies: [] }, keyword: [], passages: [] } },
    });
    expect(summary(done)).toMatchObject({ origin: 'auto' });
  });

  it('waits for a person who answers everything, and fails by its name', async () => {
    const manual = createHandler(plan({ sources: { models: 'manual', others: 'manual', stale: {} } }), true, { use: 'script' });
    await manual.next(request);
    expect(manual.asks).toHaveLength(1);
    const failed = createHandler(plan({ faults: [{ on: 'knowledge search', nth: 0, fault: { name: 'unreachable' } }] }), true);
    expect(summary(await failed.next(request))).toMatchObject({ origin: 'fault', text: 'unavailable' });
  });
});

describe('faults of scripts and searches', () => {
  it('are offered for them alone', () => {
    const offered = (kind: string) => faultsFor({ request: { kind } } as unknown as Effect);
    expect(offered('script')).toEqual(expect.arrayContaining(['timeout', 'unreachable', 'script_exception', 'script_fuel', 'script_memory']));
    expect(offered('script')).not.toContain('nothing_found');
    expect(offered('knowledge')).toEqual(['timeout', 'unreachable', 'denied', 'nothing_found', 'delay', 'never', 'crash']);
    expect(offered('llm')).not.toContain('script_fuel');
  });

  it('are answers of the interpreter', async () => {
    const { next } = createHandler(plan({ faults: [{ on: 'script', nth: 0, fault: { name: 'script_fuel' } }] }), false);
    const done = await next({ kind: 'script', language: 'python', code: 'x' });
    expect('completion' in done && JSON.parse(done.completion)).toMatchObject({ outcome: { ok: { kind: 'script', failure: { code: 'fuel' } } } });
  });
});

describe('a call of the desk', () => {
  it('is named by what it is for', async () => {
    const call = (purpose: string): JsonObject => ({ kind: 'http', caller: { handoff: purpose }, url: 'https://desk.example' });
    for (const purpose of ['request', 'relay']) {
      const { next } = createHandler(plan({ faults: [{ on: `handoff ${purpose}`, nth: 0, fault: { name: 'timeout' } }] }), true);
      expect(summary(await next(call(purpose)))).toMatchObject({ text: 'timeout' });
      expect(summary(await next(call('other')))).toMatchObject({ origin: 'script' });
    }
  });
});

describe('a fault', () => {
  const applyFault = async (name: FaultName, more: Partial<Effect> = {}, request = llm('one')) => {
    const { next } = createHandler(plan({ repeat: { recorded: [], edits: [{ place: 0, decision: { fault: { name } } }] } }), true);
    return [await next(request, more), next] as const;
  };

  it('has the outcome of its kind', async () => {
    for (const name of faultsFor({ request: llm('one') } as unknown as Effect)) {
      const [done] = await applyFault(name);
      if (name === 'never') expect(done).toEqual({ cancelAt: 120_010 });
      else if (name === 'crash') expect(done).toEqual({ crash: true });
      else expect(summary(done), name).toMatchObject({ origin: 'fault' });
    }
    expect(summary((await applyFault('timeout'))[0])).toEqual({ origin: 'fault', took: 20, text: 'timeout' });
    expect(summary((await applyFault('delay'))[0])).toEqual({ origin: 'fault', took: 10_020, text: '{"a":1.0}' });
    expect(summary((await applyFault('truncated'))[0])).toMatchObject({ text: '{"a":' });
    expect(summary((await applyFault('unknown_intent'))[0])).toMatchObject({ text: expect.stringContaining('NO_SUCH_INTENT') as string });
  });

  it('of a service is an HTTP status, not a connection error', async () => {
    const [done] = await applyFault('status_503', {}, { kind: 'http', caller: { tool: 't' }, url: 'http://x' });
    expect('completion' in done && JSON.parse(done.completion)).toMatchObject({ outcome: { ok: { kind: 'http', status: 503 } } });
  });

  it('that crashes the process leaves a write in doubt and repeats a read', async () => {
    const [, again] = await applyFault('crash', { class: 'write' }, { kind: 'task', task: 'loan:file' });
    expect(summary(await again({ kind: 'task', task: 'loan:file' }, { class: 'write' }))).toMatchObject({ text: 'interrupted' });
    const [, read] = await applyFault('crash');
    expect(summary(await read(llm('one')))).toMatchObject({ origin: 'script' });
  });

  it('that crashes the process consumes no recorded answer and counts once', async () => {
    const repeat = { recorded: [recorded('one', 'first')], edits: [{ place: 0, decision: { fault: { name: 'crash' as const } } }] };
    const { next } = createHandler(plan({ repeat, faults: [{ on: 'llm', nth: 2, fault: { name: 'timeout' } }] }), false, { use: 'auto' });
    expect(await next(llm('one'))).toEqual({ crash: true });
    expect(summary(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
    expect(summary(await next(llm('two')))).toMatchObject({ text: 'timeout' });
  });

  it('rule matches by kind and name, or the nth effect only', async () => {
    const rule = (on: string, nth: number) => [{ on, nth, fault: { name: 'timeout' as const } }];
    const kinds = async (on: string, nth: number) => {
      const { next } = createHandler(plan({ faults: rule(on, nth) }), true);
      return [summary(await next(llm('one'))), summary(await next({ ...llm('one'), purpose: 'policy' })), summary(await next(llm('one')))].map((it) => 'origin' in it && it.origin);
    };
    expect(await kinds('llm', 0)).toEqual(['fault', 'fault', 'fault']);
    expect(await kinds('llm extract', 0)).toEqual(['fault', 'script', 'fault']);
    expect(await kinds('llm extract', 2)).toEqual(['script', 'script', 'fault']);
    expect(await kinds('', 2)).toEqual(['script', 'fault', 'script']);
  });

  it('has a title and a group, and applies to the offered effects', () => {
    const offered = faultsFor({ request: { kind: 'task' } } as unknown as Effect);
    expect(offered).toContain('timeout');
    expect(offered).not.toContain('not_json');
    expect(Object.values(FAULTS).every((it) => it.title && it.group)).toBe(true);
  });
});

describe('a live model', () => {
  const sources = { models: 'live', others: 'script', stale: {} } as const;

  /** A live model that answers everything and records its calls. */
  function outside() {
    const calls: string[] = [];
    const answer = async (_: unknown, effect: Effect) => (calls.push(effect.key), toAnswer(effect, { ok: { kind: 'llm', text: 'live' } }, 10));
    return { calls, world: { answer } };
  }

  it('is not called beyond the limit: the effect waits for a person, who may raise it', async () => {
    const { calls, world } = outside();
    const { next, asks } = createHandler(plan({ sources, liveCallsLeft: 1 }), false, { use: 'live', liveCallsLeft: 2 }, world);
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'live', text: 'live' });
    expect([calls.length, asks.length]).toEqual([1, 0]);
    expect(summary(await next(llm('two')))).toMatchObject({ origin: 'live' });
    expect(asks.map((it) => it.limited)).toEqual([true]);
    expect(summary(await next(llm('three')))).toMatchObject({ origin: 'live' });
    expect([calls.length, asks.length]).toEqual([3, 1]);
  });

  it('is not called if the answer is given otherwise', async () => {
    const { calls, world } = outside();
    const { next, asks } = createHandler(plan({ sources, liveCallsLeft: 0 }), false, { use: 'auto' }, world);
    expect(summary(await next(llm('one')))).toMatchObject({ origin: 'auto' });
    expect([calls.length, asks.length]).toEqual([0, 1]);
  });
});

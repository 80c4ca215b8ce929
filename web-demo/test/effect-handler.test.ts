import { describe, expect, it } from 'vitest';
import type { EffectResult, TurnObserver } from '../src/turn-runner';
import { ExtensionRunner } from '../src/effects/extension';
import { LiveEffects } from '../src/effects/live';
import type { Ask, Decision, Run } from '../src/protocol';
import { createEffectHandler } from '../src/run/effect-handler';
import { FAULTS, faultsFor, type FaultName } from '../src/run/fault';
import type { Effect, JsonObject } from '../src/types';

const QUIET: TurnObserver = { notices: () => {}, effect: () => {}, answer: () => {}, restart: () => {} };
const SAID = { conversation: 'main', conversationId: 'c', message: 'm', inputParams: '', reset: false, at: 0, seed: 1 };
const REACH = { models: [], secrets: [] };
const SCRIPTED = '{"ok":{"kind":"llm","text":"{\\"a\\":1.0}","provider":"scripted","model":"scripted"}}';

const plan = (more: Partial<Run> = {}): Run => ({
  input: SAID,
  parent: null,
  before: null,
  sources: { models: 'script', others: 'script', stale: {} },
  reach: REACH,
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

/** Answers one effect after the other, and notes who was asked. */
function answering(run: Run, scripted: boolean, decision: Decision | 'stop' = 'stop', world?: Pick<LiveEffects, 'answer'>) {
  const asks: Ask[] = [];
  const engine = {
    scripted: () => scripted,
    answer: (id: number) => {
      const outcome = scripted ? SCRIPTED : '{"error":{"kind":"unavailable","message":"no scripted rule answers"}}';
      return `{"completion":{"id":${id},"at":10,"outcome":${outcome}},"delay_ms":20}`;
    },
    module: () => undefined,
    extended: () => '',
    now: () => 10,
  };
  const extensions = { answer: () => undefined } as unknown as ExtensionRunner;
  const ask = async (it: Ask) => (asks.push(it), decision);
  const fulfil = createEffectHandler(run, { engine, pack: '{}', extensions, live: async () => world ?? new LiveEffects(REACH), observer: QUIET, salt: '', ask });
  let place = 0;
  const next = async (request: JsonObject, more: Partial<Effect> = {}): Promise<EffectResult> => {
    const effect = { id: place + 7, key: 'k', class: 'read', deadline_ms: 9, request, ...more } as Effect;
    const done = await fulfil(effect, JSON.stringify(effect), place);
    if ('completion' in done) place++;
    return done;
  };
  return { next, asks };
}

function told(done: EffectResult) {
  if (!('completion' in done)) return done;
  const { at, outcome } = done.exchange.completion;
  return { origin: done.exchange.origin, took: at - 10, text: 'ok' in outcome ? outcome.ok['text'] : outcome.error.kind };
}

describe('the answers of a turn that is run again', () => {
  it('are used again for the same request, each once, and cost nobody anything', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], edits: [] };
    const { next, asks } = answering(plan({ repeat }), false, { use: 'auto' });
    expect(told(await next(llm('two')))).toEqual({ origin: 'reused', took: 3, text: 'second' });
    expect(told(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
    expect(asks).toEqual([]);
  });

  it('are asked about when the request has changed, and what was decided is remembered by purpose', async () => {
    const repeat = { recorded: [recorded('one', 'first')], edits: [] };
    const open = answering(plan({ repeat }), false, { use: 'recorded' });
    expect(told(await open.next(llm('other')))).toEqual({ origin: 'stale', took: 0, text: 'first' });
    expect(open.asks[0]?.recorded?.request).toEqual(llm('one'));
    const sources = { models: 'script' as const, others: 'script' as const, stale: { extract: 'recorded' as const } };
    const settled = answering(plan({ repeat, sources }), false);
    expect(told(await settled.next(llm('other')))).toMatchObject({ origin: 'stale' });
    expect(settled.asks).toEqual([]);
  });

  it('come from the script when they came from there: it may have been edited', async () => {
    const repeat = { recorded: [recorded('one', 'before', 'script')], edits: [] };
    const { next } = answering(plan({ repeat }), true);
    expect(told(await next(llm('one')))).toEqual({ origin: 'script', took: 20, text: '{"a":1.0}' });
  });

  it('are given anew from the place on from which the branch goes', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], until: 1, edits: [] };
    const { next, asks } = answering(plan({ repeat, sources: { models: 'manual', others: 'script', stale: {} } }), false, {
      outcome: '{"ok":{"kind":"llm","text":"mine"}}',
      origin: 'manual',
    });
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'reused' });
    expect(told(await next(llm('two')))).toMatchObject({ origin: 'manual', text: 'mine' });
    expect(asks).toHaveLength(1);
  });

  it('are used again whoever answers now, unless the script that gave them answers still', async () => {
    const repeat = { recorded: [recorded('one', 'first', 'script')], edits: [] };
    for (const models of ['live', 'manual', 'auto', 'script'] as const) {
      const { next, asks } = answering(plan({ repeat, sources: { models, others: 'script', stale: {} } }), false);
      expect(told(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
      expect(asks).toEqual([]);
    }
    const changed = answering(plan({ repeat }), true);
    expect(told(await changed.next(llm('one')))).toMatchObject({ origin: 'script', text: '{"a":1.0}' });
  });

  it('are for the call that was as often made: one more call before them takes none', async () => {
    const repeat = { recorded: [recorded('one', 'first'), recorded('two', 'second')], edits: [] };
    const { next, asks } = answering(plan({ repeat }), false, { use: 'recorded' });
    expect(told(await next(llm('new')))).toMatchObject({ origin: 'stale', text: 'first' });
    expect(told(await next(llm('two')))).toMatchObject({ origin: 'reused', text: 'second' });
    expect(asks.length).toBe(1);
    expect(told(await next({ ...llm('more'), purpose: 'policy' }))).toMatchObject({ origin: 'auto' });
  });

  it('are what was edited, at its place alone', async () => {
    const edits = [{ place: 1, decision: { outcome: '{"ok":{"kind":"llm","text":"edited"}}', origin: 'edited' as const } }];
    const { next } = answering(plan({ repeat: { recorded: [recorded('one', 'first')], edits } }), true);
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'reused' });
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'edited', text: 'edited' });
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'script' });
  });
});

describe('a fault', () => {
  const struckBy = async (name: FaultName, more: Partial<Effect> = {}, request = llm('one')) => {
    const { next } = answering(plan({ repeat: { recorded: [], edits: [{ place: 0, decision: { fault: { name } } }] } }), true);
    return [await next(request, more), next] as const;
  };

  it('of each kind says what it is', async () => {
    for (const name of faultsFor({ request: llm('one') } as unknown as Effect)) {
      const [done] = await struckBy(name);
      if (name === 'never') expect(done).toEqual({ cancelAt: 120_010 });
      else if (name === 'crash') expect(done).toEqual({ crash: true });
      else expect(told(done), name).toMatchObject({ origin: 'fault' });
    }
    expect(told((await struckBy('timeout'))[0])).toEqual({ origin: 'fault', took: 20, text: 'timeout' });
    expect(told((await struckBy('delay'))[0])).toEqual({ origin: 'fault', took: 10_020, text: '{"a":1.0}' });
    expect(told((await struckBy('truncated'))[0])).toMatchObject({ text: '{"a":' });
    expect(told((await struckBy('unknown_intent'))[0])).toMatchObject({ text: expect.stringContaining('NO_SUCH_INTENT') as string });
  });

  it('of a service is its status and not a failure to reach it', async () => {
    const [done] = await struckBy('status_503', {}, { kind: 'http', caller: { tool: 't' }, url: 'http://x' });
    expect('completion' in done && JSON.parse(done.completion)).toMatchObject({ outcome: { ok: { kind: 'http', status: 503 } } });
  });

  it('that ends the process leaves a write in doubt, and lets a read be asked again', async () => {
    const [, again] = await struckBy('crash', { class: 'write' }, { kind: 'task', task: 'loan:file' });
    expect(told(await again({ kind: 'task', task: 'loan:file' }, { class: 'write' }))).toMatchObject({ text: 'interrupted' });
    const [, read] = await struckBy('crash');
    expect(told(await read(llm('one')))).toMatchObject({ origin: 'script' });
  });

  it('that ends the process takes no recorded answer and is counted once', async () => {
    const repeat = { recorded: [recorded('one', 'first')], edits: [{ place: 0, decision: { fault: { name: 'crash' as const } } }] };
    const { next } = answering(plan({ repeat, faults: [{ on: 'llm', nth: 2, fault: { name: 'timeout' } }] }), false, { use: 'auto' });
    expect(await next(llm('one'))).toEqual({ crash: true });
    expect(told(await next(llm('one')))).toEqual({ origin: 'reused', took: 3, text: 'first' });
    expect(told(await next(llm('two')))).toMatchObject({ text: 'timeout' });
  });

  it('that always strikes does so by kind and name, or the nth time only', async () => {
    const rule = (on: string, nth: number) => [{ on, nth, fault: { name: 'timeout' as const } }];
    const kinds = async (on: string, nth: number) => {
      const { next } = answering(plan({ faults: rule(on, nth) }), true);
      return [told(await next(llm('one'))), told(await next({ ...llm('one'), purpose: 'policy' })), told(await next(llm('one')))].map((it) => 'origin' in it && it.origin);
    };
    expect(await kinds('llm', 0)).toEqual(['fault', 'fault', 'fault']);
    expect(await kinds('llm extract', 0)).toEqual(['fault', 'script', 'fault']);
    expect(await kinds('llm extract', 2)).toEqual(['script', 'script', 'fault']);
    expect(await kinds('', 2)).toEqual(['script', 'fault', 'script']);
  });

  it('has a title and a group, and fits what it is offered for', () => {
    const offered = faultsFor({ request: { kind: 'task' } } as unknown as Effect);
    expect(offered).toContain('timeout');
    expect(offered).not.toContain('not_json');
    expect(Object.values(FAULTS).every((it) => it.title && it.group)).toBe(true);
  });
});

describe('a live model', () => {
  const sources = { models: 'live', others: 'script', stale: {} } as const;

  /** A model outside of the page that answers everything, and counts how often. */
  function outside() {
    const calls: string[] = [];
    const answer = async (_: unknown, { id, key }: Effect) => (calls.push(key), `{"completion":{"id":${id},"at":10,"outcome":{"ok":{"kind":"llm","text":"live"}}}}`);
    return { calls, world: { answer } };
  }

  it('is not called beyond the limit: the effect waits for a person, who may raise it', async () => {
    const { calls, world } = outside();
    const { next, asks } = answering(plan({ sources, liveLeft: 1 }), false, { use: 'live', liveLeft: 2 }, world);
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'live', text: 'live' });
    expect([calls.length, asks.length]).toEqual([1, 0]);
    expect(told(await next(llm('two')))).toMatchObject({ origin: 'live' });
    expect(asks.map((it) => it.limited)).toEqual([true]);
    expect(told(await next(llm('three')))).toMatchObject({ origin: 'live' });
    expect([calls.length, asks.length]).toEqual([3, 1]);
  });

  it('is not called when the answer is given otherwise', async () => {
    const { calls, world } = outside();
    const { next, asks } = answering(plan({ sources, liveLeft: 0 }), false, { use: 'auto' }, world);
    expect(told(await next(llm('one')))).toMatchObject({ origin: 'auto' });
    expect([calls.length, asks.length]).toEqual([0, 1]);
  });
});

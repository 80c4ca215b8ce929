import { describe, expect, it } from 'vitest';
import { PRESETS, presetOf } from '../src/effects/llm/presets';
import { addUsage, usageText } from '../src/effects/model-usage';
import { AnswerSettings } from '../src/answer-settings.svelte';
import type { AnsweredEffect, Origin } from '../src/session/turn-data';

const NONE = { calls: 0, inputTokens: 0, outputTokens: 0 };

function exchange(origin: Origin, kind = 'llm', outcome: unknown = { ok: { kind, text: 'x', usage: { input_tokens: 12, output_tokens: 3 } } }): AnsweredEffect {
  return { effect: { id: 1, request: { kind } }, completion: { id: 1, at: 0, outcome }, delayMs: 0, origin, seq: 0 } as unknown as AnsweredEffect;
}

describe('model usage', () => {
  it('counts live model calls and their tokens', () => {
    const once = addUsage(NONE, exchange('live'));
    expect(once).toEqual({ calls: 1, inputTokens: 12, outputTokens: 3 });
    expect(addUsage(once, exchange('live', 'llm', { error: { kind: 'limited', message: '' } }))).toEqual({ ...once, calls: 2 });
    for (const free of [exchange('auto'), exchange('reused'), exchange('script'), exchange('live', 'http')]) expect(addUsage(once, free)).toBe(once);
  });

  it('is formatted with the limit', () => {
    expect(usageText(NONE, 100)).toBe('0 of 100 calls');
    expect(usageText({ calls: 3, inputTokens: 40, outputTokens: 5 }, 10)).toBe('3 of 10 calls, 40 + 5 tokens');
  });

  it('reduces the remaining calls; none remain without a number', () => {
    const settings = new AnswerSettings();
    expect(settings.toRunOptions().liveCallsLeft).toBe(100);
    settings.limit = 1;
    settings.countUsage({ id: 1, type: 'answer', exchange: exchange('live') });
    expect(settings.toRunOptions().liveCallsLeft).toBe(0);
    settings.limit = 3;
    expect(settings.callsLeft).toBe(2);
    settings.limit = null;
    expect(settings.callsLeft).toBe(0);
  });
});

describe('keys', () => {
  it('are discarded on both sides, and the models stay', () => {
    let calls = 0;
    const settings = new AnswerSettings(() => calls++);
    settings.setModel(0, 'openai', 'http://127.0.0.1:1234/v1');
    settings.models[0]!.key = 'sk-1';
    settings.secrets.push({ name: 'crm', value: 'secret' });
    settings.clearKeys();
    expect(JSON.stringify(settings.toRunOptions().liveAccess)).not.toMatch(/sk-1|secret"/);
    expect(settings.models).toHaveLength(1);
    expect(calls).toBe(1);
  });
});

describe('presets', () => {
  it('are found by URL', () => {
    for (const it of PRESETS) expect(presetOf({ provider: it.provider, address: `${it.address}/`, model: '', key: '' })).toBe(it);
    expect(presetOf({ provider: 'ollama', address: '', model: '', key: '' })?.name).toBe('Ollama');
    expect(presetOf({ provider: 'openai', address: '', model: '', key: '' })).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { PRESETS, presetOf } from '../src/effects/llm/presets';
import { addUsage, usageText } from '../src/effects/model-usage';
import { AnswerSettings } from '../src/answer-settings.svelte';
import type { AnsweredEffect, Origin } from '../src/session/turn-data';

const NONE = { calls: 0, inputTokens: 0, outputTokens: 0 };

function answered(origin: Origin, kind = 'llm', outcome: unknown = { ok: { kind, text: 'x', usage: { input_tokens: 12, output_tokens: 3 } } }): AnsweredEffect {
  return { effect: { id: 1, request: { kind } }, completion: { id: 1, at: 0, outcome }, delayMs: 0, origin, seq: 0 } as unknown as AnsweredEffect;
}

describe('what is spent', () => {
  it('is the calls of models that left the page, with their tokens', () => {
    const once = addUsage(NONE, answered('live'));
    expect(once).toEqual({ calls: 1, inputTokens: 12, outputTokens: 3 });
    expect(addUsage(once, answered('live', 'llm', { error: { kind: 'limited', message: '' } }))).toEqual({ ...once, calls: 2 });
    for (const free of [answered('auto'), answered('reused'), answered('script'), answered('live', 'http')]) expect(addUsage(once, free)).toBe(once);
  });

  it('is told with the limit', () => {
    expect(usageText(NONE, 100)).toBe('0 of 100 calls');
    expect(usageText({ calls: 3, inputTokens: 40, outputTokens: 5 }, 10)).toBe('3 of 10 calls, 40 + 5 tokens');
  });

  it('leaves fewer calls, and none when no number is given', () => {
    const reach = new AnswerSettings();
    expect(reach.toRunOptions().liveLeft).toBe(100);
    reach.limit = 1;
    reach.countUsage({ id: 1, type: 'answer', exchange: answered('live') });
    expect(reach.toRunOptions().liveLeft).toBe(0);
    reach.limit = 3;
    expect(reach.callsLeft).toBe(2);
    reach.limit = null;
    expect(reach.callsLeft).toBe(0);
  });
});

describe('keys', () => {
  it('are forgotten on both sides, and the models stay', () => {
    let told = 0;
    const reach = new AnswerSettings(() => told++);
    reach.setModel(0, 'openai', 'http://127.0.0.1:1234/v1');
    reach.models[0]!.key = 'sk-1';
    reach.secrets.push({ name: 'crm', value: 'secret' });
    reach.clearKeys();
    expect(JSON.stringify(reach.toRunOptions().reach)).not.toMatch(/sk-1|secret"/);
    expect(reach.models).toHaveLength(1);
    expect(told).toBe(1);
  });
});

describe('servers on the machine', () => {
  it('are known by their address', () => {
    for (const it of PRESETS) expect(presetOf({ provider: it.provider, address: `${it.address}/`, model: '', key: '' })).toBe(it);
    expect(presetOf({ provider: 'ollama', address: '', model: '', key: '' })?.name).toBe('Ollama');
    expect(presetOf({ provider: 'openai', address: '', model: '', key: '' })).toBeUndefined();
  });
});

import { describe, expect, it, vi } from 'vitest';
import { ScriptEffects, type ScriptEngine, type ScriptRunner } from '../src/effects/script';
import { createScriptRunner } from '../src/script/runner';
import type { Effect } from '../src/types';

/** An engine that shows what it was given. */
const engine: ScriptEngine = {
  scriptInput: (id) => `input of ${id}`,
  completeScript: (_, output, failure) => ({ completion: '', outcome: output ?? failure, delayMs: 0 }),
};

function effect(more: Record<string, number> = {}): Effect {
  return { id: 3, key: 'k', class: 'pure', deadline_ms: 9, request: { kind: 'script', language: 'python', code: 'x', ...more } };
}

/** Returns the outcome of a script. */
function answer(runner: Partial<ScriptRunner>, of = effect()) {
  const scripts = new ScriptEffects(async () => ({ run: async () => '', check: async () => '{"issues":[]}', ...runner }));
  return scripts.answer(engine, of, JSON.stringify(of))?.then((it) => it.outcome);
}

function timeout(): Promise<never> {
  return Promise.reject(Object.assign(new Error('late'), { name: 'ScriptTimeout' }));
}

describe('a script', () => {
  it('runs on its input, with its own time limit or 2 seconds, at most 30', async () => {
    const limits: number[] = [];
    const run = async (input: string, limit: number) => (limits.push(limit), `output for ${input}`);
    expect(await answer({ run })).toBe('output for input of 3');
    await answer({ run }, effect({ timeout_ms: 50 }));
    await answer({ run }, effect({ timeout_ms: 90_000 }));
    expect(limits).toEqual([2000, 50, 30_000]);
  });

  it('that takes too long fails with the words of the server', async () => {
    expect(await answer({ run: timeout }, effect({ timeout_ms: 50 }))).toBe('{"ok":{"kind":"script","logs":[],"failure":{"code":"timeout","message":"the script took longer than 50 ms"}}}');
  });

  it('is unsupported where the interpreter cannot be loaded, and is tried again', async () => {
    let loads = 0;
    const scripts = new ScriptEffects(async () => {
      if (++loads === 1) throw new Error('no network');
      return { run: async () => 'done', check: async () => '{"issues":[{"line":2,"message":"bad"}]}' };
    });
    expect((await scripts.answer(engine, effect(), '{}'))?.outcome).toBe('{"error":{"kind":"unsupported","message":"scripts cannot run here: no network"}}');
    expect((await scripts.answer(engine, effect(), '{}'))?.outcome).toBe('done');
    expect(await scripts.check('x')).toEqual([{ line: 2, message: 'bad' }]);
    expect(loads).toBe(2);
  });

  it('says that the interpreter is not built yet, and runs once it is', async () => {
    const files = [new Response('', { status: 404 }), new Response('', { status: 500 }), new Response(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))];
    vi.stubGlobal('fetch', async () => files.shift());
    const scripts = new ScriptEffects(async () => {
      await createScriptRunner('https://page.test/python.wasm');
      return { run: async () => 'done', check: async () => '{"issues":[]}' };
    });
    const outcome = async () => (await scripts.answer(engine, effect(), '{}'))?.outcome;
    const refusal = (reason: string) => `{"error":{"kind":"unsupported","message":"scripts cannot run here: ${reason}"}}`;
    expect(await outcome()).toBe(refusal('the interpreter is not available yet; try again when it has been built'));
    expect(await outcome()).toBe(refusal('the interpreter could not be loaded: status 500'));
    expect(await outcome()).toBe('done');
    vi.unstubAllGlobals();
  });

  it('does not answer other effects', () => {
    expect(answer({}, { ...effect(), request: { kind: 'sleep' } })).toBeUndefined();
  });
});

import { beforeEach, describe, expect, it, vi } from 'vitest';
import { WorkerRunner, type ScriptWorker } from '../../src/script/runner';
import type { ScriptReply, ScriptRequest } from '../../src/script/script-worker';

const MODULE = {} as WebAssembly.Module;

/** A worker that answers as a test says; without an answer it is busy. */
class FakeWorker implements ScriptWorker {
  onmessage: ((event: MessageEvent<ScriptReply>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  terminated = false;
  readonly requests: ScriptRequest[] = [];

  constructor(private readonly answer: (input: string) => ScriptReply | undefined) {
    queueMicrotask(() => this.reply({ type: 'ready' }));
  }

  postMessage(request: ScriptRequest): void {
    this.requests.push(request);
    const reply = 'input' in request ? this.answer(request.input) : undefined;
    if (reply) queueMicrotask(() => this.reply(reply));
  }

  terminate(): void {
    this.terminated = true;
  }

  private reply(data: ScriptReply): void {
    this.onmessage?.({ data } as MessageEvent<ScriptReply>);
  }
}

let workers: FakeWorker[] = [];

function createRunner(answer: (input: string) => ScriptReply | undefined): WorkerRunner {
  return new WorkerRunner(MODULE, () => {
    const worker = new FakeWorker(answer);
    workers.push(worker);
    return worker;
  });
}

function echo(input: string): ScriptReply | undefined {
  return input === 'endless' ? undefined : { type: 'output', output: input };
}

beforeEach(() => {
  workers = [];
});

describe('the script runner', () => {
  it('starts one worker with the first call, and passes the module once', async () => {
    const runner = createRunner(echo);
    expect(workers).toHaveLength(0);
    expect(await Promise.all([runner.run('a', 100), runner.run('b', 100), runner.check('x')])).toEqual(['a', 'b', '{"code":"x"}']);
    expect(workers).toHaveLength(1);
    expect(workers[0]?.requests.map((it) => ('module' in it ? 'module' : it.name))).toEqual(['module', 'run', 'run', 'check']);
  });

  it('terminates the worker of a script that takes too long, and starts another for the next call', async () => {
    vi.useFakeTimers();
    const runner = createRunner(echo);
    const late = runner.run('endless', 50);
    const next = runner.run('next', 50);
    const rejected = expect(late).rejects.toMatchObject({ name: 'ScriptTimeout' });
    await vi.advanceTimersByTimeAsync(50);
    await rejected;
    expect(await next).toBe('next');
    expect(workers.map((it) => it.terminated)).toEqual([true, false]);
    vi.useRealTimers();
  });

  it('rejects the call that failed only', async () => {
    const runner = createRunner((input) => (input === 'bad' ? { type: 'failed', message: 'broken' } : echo(input)));
    await expect(runner.run('bad', 100)).rejects.toThrow('broken');
    expect(await runner.run('good', 100)).toBe('good');
    expect(workers).toHaveLength(2);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineClient, type EngineError } from '../src/client';
import type { Request } from '../src/protocol';

/** A worker whose replies the test sends. */
class FakeWorker {
  static all: FakeWorker[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: unknown;
  requests: Request[] = [];
  terminated = false;

  constructor() {
    FakeWorker.all.push(this);
  }

  postMessage(request: Request): void {
    this.requests.push(request);
  }

  terminate(): void {
    this.terminated = true;
  }

  reply(data: object): void {
    this.onmessage?.({ data });
  }
}

describe('EngineClient', () => {
  let stopped: EngineError[];
  let client: EngineClient;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('Worker', FakeWorker);
    FakeWorker.all = [];
    stopped = [];
    client = new EngineClient((error) => stopped.push(error));
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('terminates a worker that does not respond and rejects pending requests', async () => {
    const look = client.inspect(3).catch((error: EngineError) => error);
    const [first] = FakeWorker.all;
    first?.reply({ id: 99, type: 'done' });
    vi.advanceTimersByTime(15_000);
    expect([first?.terminated, stopped.length]).toEqual([false, 0]);
    vi.advanceTimersByTime(2_000);
    expect([first?.terminated, stopped[0]?.code, FakeWorker.all.length]).toEqual([true, 'ENGINE_STOPPED', 2]);
    expect(await look).toMatchObject({ code: 'ENGINE_STOPPED', message: 'it did not respond for 15 s and was terminated' });
  });

  it('keeps a worker that answers pings or is still loading, and sends no pings while idle', () => {
    void client.inspect(3);
    const [worker] = FakeWorker.all;
    vi.advanceTimersByTime(60_000);
    worker?.reply({ id: 99, type: 'done' });
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      worker?.reply({ id: 0, type: 'done' });
    }
    expect(stopped).toEqual([]);
    worker?.reply({ id: 1, type: 'details', steps: [], explanations: [], stateHash: '' });
    vi.advanceTimersByTime(2_000);
    const pings = worker?.requests.length;
    vi.advanceTimersByTime(60_000);
    expect([worker?.requests.length, worker?.terminated]).toEqual([pings, false]);
  });
});

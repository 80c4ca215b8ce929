import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineClient, type EngineError } from '../src/client';
import type { Request } from '../src/protocol';

/** A worker of which the test says what it answers. */
class Answering {
  static all: Answering[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: unknown;
  asked: Request[] = [];
  ended = false;

  constructor() {
    Answering.all.push(this);
  }

  postMessage(request: Request): void {
    this.asked.push(request);
  }

  terminate(): void {
    this.ended = true;
  }

  says(data: object): void {
    this.onmessage?.({ data });
  }
}

describe('the client of the engine', () => {
  let stopped: EngineError[];
  let client: EngineClient;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('Worker', Answering);
    Answering.all = [];
    stopped = [];
    client = new EngineClient((error) => stopped.push(error));
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('ends a worker that does not listen any more, and tells whoever waits', async () => {
    const look = client.inspect(3).catch((error: EngineError) => error);
    const [first] = Answering.all;
    first?.says({ id: 99, type: 'done' });
    vi.advanceTimersByTime(15_000);
    expect([first?.ended, stopped.length]).toEqual([false, 0]);
    vi.advanceTimersByTime(2_000);
    expect([first?.ended, stopped[0]?.code, Answering.all.length]).toEqual([true, 'ENGINE_STOPPED', 2]);
    expect(await look).toMatchObject({ code: 'ENGINE_STOPPED', message: 'it did not respond for 15 s and was terminated' });
  });

  it('waits for a worker that answers pings, for one that is still being loaded, and for nothing when nobody asks', () => {
    void client.inspect(3);
    const [worker] = Answering.all;
    vi.advanceTimersByTime(60_000);
    worker?.says({ id: 99, type: 'done' });
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      worker?.says({ id: 0, type: 'done' });
    }
    expect(stopped).toEqual([]);
    worker?.says({ id: 1, type: 'details', steps: [], explanations: [], stateHash: '' });
    vi.advanceTimersByTime(2_000);
    const pings = worker?.asked.length;
    vi.advanceTimersByTime(60_000);
    expect([worker?.asked.length, worker?.ended]).toEqual([pings, false]);
  });
});

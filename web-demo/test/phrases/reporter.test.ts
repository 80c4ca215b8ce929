import { describe, expect, it } from 'vitest';
import { Reporter, type ReportWorker } from '../../src/phrases/reporter';

class FakeWorker implements ReportWorker {
  onmessage: ReportWorker['onmessage'] = null;
  onerror: ReportWorker['onerror'] = null;
  packs: string[] = [];
  terminated = false;
  postMessage({ pack }: { pack: string }) {
    this.packs.push(pack);
  }
  terminate() {
    this.terminated = true;
  }
  reply(data: { reports: string } | { problem: string }) {
    this.onmessage?.({ data } as MessageEvent<typeof data>);
  }
}

function start() {
  const workers: FakeWorker[] = [];
  const reporter = new Reporter(() => workers[workers.push(new FakeWorker()) - 1]!);
  return { workers, reporter };
}

const always = () => true;
const settled = () => new Promise((resolve) => setTimeout(resolve));

describe('a reporter', () => {
  it('makes one report at a time, and none of packs that are outdated by then', async () => {
    const { workers, reporter } = start();
    let current = 'a';
    const reports = ['a', 'b', 'c'].map((it) => {
      current = it;
      return reporter.report(it, () => it === current);
    });
    await settled();
    expect(workers[0]?.packs).toEqual(['a']);
    workers[0]?.reply({ reports: '[{"name": "a"}]' });
    await settled();
    expect(workers[0]?.packs).toEqual(['a', 'c']);
    workers[0]?.reply({ reports: '[{"name": "c"}]' });
    expect(await Promise.all(reports)).toEqual([undefined, undefined, [{ name: 'c' }]]);
  });

  it('replaces a worker that has failed', async () => {
    const { workers, reporter } = start();
    const failed = reporter.report('a', always);
    workers[0]?.reply({ problem: 'unreachable' });
    await expect(failed).rejects.toThrow('unreachable');
    const next = reporter.report('b', always);
    workers[1]?.reply({ reports: '[]' });
    expect([await next, workers[0]?.terminated]).toEqual([[], true]);
  });
});

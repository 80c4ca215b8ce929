import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineLoader } from '../src/run/engine-loader';
import { BANK } from './flow/bank';

const loads = vi.hoisted(() => ({ tables: 0, flow: 0, broken: false }));

vi.mock('convengine-wasm', () => ({
  default: async () => void loads.tables++,
  Engine: class {
    readonly plays = 'tables';
  },
}));
vi.mock('convengine-wasm-flow', () => ({
  default: async () => {
    loads.flow++;
    if (loads.broken) throw new Error('no network');
  },
  Engine: class {
    readonly plays = 'flow';
  },
}));

const TABLES = '{"name": "shop", "tables": {"ce_rule": []}}';

describe('EngineLoader', () => {
  beforeEach(() => Object.assign(loads, { tables: 0, flow: 0, broken: false }));

  it('loads the flow engine once, with the first flow', async () => {
    const loader = new EngineLoader();
    await loader.load(TABLES);
    expect(loader.open(TABLES)).toMatchObject({ plays: 'tables' });
    expect(loads).toMatchObject({ tables: 1, flow: 0 });
    expect(() => loader.open(BANK)).toThrow('not loaded');
    await Promise.all([loader.load(BANK), loader.load(BANK)]);
    expect(loader.open(BANK)).toMatchObject({ plays: 'flow' });
    expect(loader.open(TABLES)).toMatchObject({ plays: 'tables' });
    expect(loads).toMatchObject({ tables: 1, flow: 1 });
  });

  it('retries a failed download', async () => {
    const loader = new EngineLoader();
    loads.broken = true;
    await expect(loader.load(BANK)).rejects.toThrow('no network');
    loads.broken = false;
    await loader.load(BANK);
    expect(loader.open(BANK)).toMatchObject({ plays: 'flow' });
  });
});

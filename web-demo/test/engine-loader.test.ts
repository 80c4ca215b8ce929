import { beforeEach, describe, expect, it, vi } from 'vitest';
import { EngineLoader } from '../src/run/engine-loader';
import { BANK } from './flow/bank';

const begun = vi.hoisted(() => ({ tables: 0, flow: 0, broken: false }));

vi.mock('convengine-wasm', () => ({
  default: async () => void begun.tables++,
  Engine: class {
    readonly plays = 'tables';
  },
}));
vi.mock('convengine-wasm-flow', () => ({
  default: async () => {
    begun.flow++;
    if (begun.broken) throw new Error('no network');
  },
  Engine: class {
    readonly plays = 'flow';
  },
}));

const TABLES = '{"name": "shop", "tables": {"ce_rule": []}}';

describe('EngineLoader', () => {
  beforeEach(() => Object.assign(begun, { tables: 0, flow: 0, broken: false }));

  it('begins the engine of flows with the first flow, and once', async () => {
    const programs = new EngineLoader();
    await programs.load(TABLES);
    expect(programs.open(TABLES)).toMatchObject({ plays: 'tables' });
    expect(begun).toMatchObject({ tables: 1, flow: 0 });
    expect(() => programs.open(BANK)).toThrow('not loaded');
    await Promise.all([programs.load(BANK), programs.load(BANK)]);
    expect(programs.open(BANK)).toMatchObject({ plays: 'flow' });
    expect(programs.open(TABLES)).toMatchObject({ plays: 'tables' });
    expect(begun).toMatchObject({ tables: 1, flow: 1 });
  });

  it('tries again to fetch what could not be fetched', async () => {
    const programs = new EngineLoader();
    begun.broken = true;
    await expect(programs.load(BANK)).rejects.toThrow('no network');
    begun.broken = false;
    await programs.load(BANK);
    expect(programs.open(BANK)).toMatchObject({ plays: 'flow' });
  });
});

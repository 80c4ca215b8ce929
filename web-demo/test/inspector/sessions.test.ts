import { describe, expect, it } from 'vitest';
import { listPaths, valueAt } from '../../src/inspector/path';
import { SessionCache } from '../../src/inspector/sessions';
import { findUnstored, readStoredRows } from '../../src/inspector/stored';
import { findWriters } from '../../src/inspector/writers';
import type { JsonObject, Outcome } from '../../src/types';
import { Script } from '../timeline/turn';

/** Sessions of a turn with one more value after each step; the last step does not finish. */
function counted(unfinished = false) {
  const asked: string[] = [];
  const sessions = new SessionCache((turn, index) => {
    asked.push(`${turn}/${index}`);
    const session = (steps: number): JsonObject => ({ state: steps > 1 ? 'B' : 'A', context: { steps } });
    return Promise.resolve({ before: session(index), after: unfinished && index === 2 ? null : session(index + 1) });
  });
  const script = new Script();
  script
    .addStep('AStep', () => {}, true)
    .addStep('RulesStep', () => script.addAudit('SET_STATE', { ruleId: 12, fromState: 'A', toState: 'B' }).addAudit('SET_JSON', { ruleId: 13, key: 'other' }), true)
    .addStep('CStep', () => {}, true);
  const record = script.finish(7).record!;
  if (unfinished) record.steps[2]!.finished = false;
  return { sessions, asked, record };
}

describe('sessions', () => {
  it('are those of a step, or of a turn up to its last finished step', async () => {
    const { sessions, record } = counted();
    expect(await sessions.around(record, 1)).toMatchObject({ before: { context: { steps: 1 } }, after: { context: { steps: 2 } } });
    expect(await sessions.around(record, undefined)).toMatchObject({ before: { context: { steps: 0 } }, after: { context: { steps: 3 } } });
    const broken = counted(true);
    expect((await broken.sessions.around(broken.record, 2))?.after).toBeUndefined();
    expect(await broken.sessions.after(broken.record, undefined)).toMatchObject({ context: { steps: 2 } });
  });

  it('are loaded once, and again only after a failure or eviction', async () => {
    const { sessions, asked } = counted();
    await Promise.all([sessions.aroundStep(1, 0), sessions.aroundStep(1, 0)]);
    expect(asked).toEqual(['1/0']);
    for (let index = 1; index <= 80; index++) await sessions.aroundStep(1, index);
    await sessions.aroundStep(1, 0);
    expect(asked.filter((it) => it === '1/0')).toHaveLength(2);
    let times = 0;
    const failing = new SessionCache(() => (++times, Promise.reject(new Error('gone'))));
    await expect(failing.aroundStep(1, 0)).rejects.toThrow('gone');
    await expect(failing.aroundStep(1, 0)).rejects.toThrow('gone');
    expect(times).toBe(2);
  });
});

describe('writers', () => {
  it('are the rules named by notices, else the last step that changed the value', async () => {
    const { sessions, record } = counted();
    expect(Object.fromEntries(await findWriters(record, undefined, sessions))).toEqual({ state: 'rule 12', 'context.steps': 'C' });
    expect(Object.fromEntries(await findWriters(record, 0, sessions))).toEqual({ 'context.steps': 'A' });
  });
});

describe('paths', () => {
  it('resolve to values and list the leaves', () => {
    const session = { context: { items: [{ id: 5 }], none: {} }, state: 'A' };
    expect(['context.items[0].id', 'state', 'context.none', 'context.missing', 'state.more', 'constructor'].map((it) => valueAt(session, it))).toEqual([5, 'A', {}, undefined, undefined, undefined]);
    expect(listPaths(session)).toEqual(['context.items', 'context.none', 'state']);
  });
});

describe('the stored row', () => {
  const outcome = (writes: JsonObject[]) => ({ writes }) as unknown as Outcome;

  it('is separate from other writes', () => {
    const stored = readStoredRows(outcome([{ table: 'history', user_input: 'a' }, { table: 'conversation', state_code: 'A' }]));
    expect(stored).toEqual({ row: [['state_code', 'A']], others: [{ table: 'history', values: { user_input: 'a' } }] });
  });

  it('shows what the next turn does not see', () => {
    const stored = readStoredRows(outcome([{ table: 'conversation', context: { kept: 1, late: 2 }, params: {} }]));
    const session = { context: { kept: 1, gone: 3, nothing: null }, inputParams: { once: true } };
    expect(findUnstored(session, stored).map((it) => it.path)).toEqual(['context.gone', 'inputParams.once']);
    expect(findUnstored(session, readStoredRows(outcome([])))).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { Autosave } from '../../src/session/autosave';
import type { SharedSession } from '../../src/session/share';

const session = (pack: string, more: Partial<SharedSession> = {}): SharedSession => ({ end: '', pack, turns: [], head: -1, ...more });

describe('autosave', () => {
  it('stores the session, and keeps the one of the visit before', async () => {
    const stored: unknown[] = [];
    const autosave = new Autosave(session('old'), async (it) => void stored.push(it), () => {});
    await autosave.store(session('new'));
    expect(stored).toEqual([{ latest: session('new'), previous: session('old') }]);
  });

  it('does not store a session that was opened again twice', async () => {
    const stored: unknown[] = [];
    const autosave = new Autosave(session('old'), async (it) => void stored.push(it), () => {});
    await autosave.store(session('old', { cursor: [0, 1] }));
    expect(stored).toEqual([{ latest: session('old', { cursor: [0, 1] }) }]);
  });

  it('says once why a session could not be stored, and again after a success', async () => {
    const reported: string[] = [];
    let problem: Error | undefined = new DOMException('no room', 'QuotaExceededError');
    const save = () => (problem ? Promise.reject(problem) : Promise.resolve());
    const autosave = new Autosave(undefined, save, (it) => reported.push(it));
    await autosave.store(session('a'));
    await autosave.store(session('a'));
    expect(reported).toEqual(['This browser could not store the session (its storage is full). Save it as a file (Share) before you leave.']);
    problem = undefined;
    await autosave.store(session('a'));
    problem = new Error('blocked');
    await autosave.store(session('a'));
    expect(reported.slice(1)).toEqual(['This browser could not store the session (blocked). Save it as a file (Share) before you leave.']);
  });
});

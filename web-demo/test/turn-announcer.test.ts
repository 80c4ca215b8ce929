import { describe, expect, it } from 'vitest';
import type { Outcome } from '../src/types';
import { TurnAnnouncer, FIRST_DELAY_MS, MIN_INTERVAL_MS, type AnnouncedTurn } from '../src/view/chat/turn-announcer';

const running = (activity = 'Working'): AnnouncedTurn => ({ number: 3, running: true, activity, record: undefined, exchanges: [], error: undefined });
const SILENCE = { polite: '', alert: '' };

/** Ends a turn, as the page does in place. */
function end(turn: AnnouncedTurn, outcome: Partial<Outcome>): AnnouncedTurn {
  turn.running = false;
  turn.record = { outcome: { conversation_id: 'c', intent: null, state: null, payload: null, context: {}, fault: null, writes: [], ...outcome } };
  return turn;
}

describe('the announcer of the chat', () => {
  it('announces the reply once', () => {
    const [announcing, turn] = [new TurnAnnouncer(), running()];
    expect(announcing.update(turn, 0)).toEqual(SILENCE);
    end(turn, { payload: { type: 'TEXT', value: 'Hello' } });
    expect(announcing.update(turn, 10)).toEqual({ polite: 'Reply of turn 3: Hello', alert: '' });
    expect(announcing.update(turn, 20)).toBeUndefined();
  });

  it('announces how a run goes on, and why an event was refused', () => {
    const announce = (flow: object) => {
      const [announcing, turn] = [new TurnAnnouncer(), running()];
      announcing.update(turn, 0);
      return announcing.update(end(turn, { payload: { type: 'TEXT', value: '' }, flow: flow as NonNullable<Outcome['flow']> }), 10)?.polite;
    };
    expect(announce({ run_id: 'r', status: 'awaiting_human', messages: [] })).toBe('Turn 3: run awaiting human');
    expect(announce({ run_id: 'r', status: 'failed', messages: [], error: { code: 'not_waiting', message: 'the run waits for something else' } })).toBe('Turn 3: refused, the run waits for something else');
  });

  it('announces nothing when a finished branch is shown', () => {
    const announcing = new TurnAnnouncer();
    const other = end(running(), { payload: { type: 'TEXT', value: 'Hello' } });
    expect(announcing.update(other, 0)).toBeUndefined();
    announcing.update(running(), 10);
    expect([announcing.update(other, 20), announcing.update(undefined, 30), announcing.nextDelay(40)]).toEqual([undefined, undefined, undefined]);
  });

  it('announces the progress of a long turn, at most every few seconds', () => {
    const [announcing, turn] = [new TurnAnnouncer(), running('a')];
    announcing.update(turn, 0);
    expect([announcing.nextDelay(0), announcing.update(turn, FIRST_DELAY_MS - 1)]).toEqual([FIRST_DELAY_MS, undefined]);
    expect(announcing.update(turn, FIRST_DELAY_MS)).toEqual({ polite: 'a', alert: '' });
    expect(announcing.nextDelay(FIRST_DELAY_MS)).toBeUndefined();
    turn.activity = 'b';
    expect([announcing.update(turn, FIRST_DELAY_MS + 1), announcing.nextDelay(FIRST_DELAY_MS + 1)]).toEqual([undefined, MIN_INTERVAL_MS - 1]);
    expect(announcing.update(turn, FIRST_DELAY_MS + MIN_INTERVAL_MS)?.polite).toBe('b');
  });

  it('announces failed calls beside the reply', () => {
    const [announcing, turn] = [new TurnAnnouncer(), running()];
    announcing.update(turn, 0);
    end(turn, { payload: { type: 'TEXT', value: 'Sorry' } });
    const effect = { id: 0, key: '', class: 'read' as const, deadline_ms: 1, request: { kind: 'llm', purpose: 'policy' } };
    turn.exchanges = [{ effect, completion: { id: 0, at: 0, outcome: { error: { kind: 'timeout', message: 'no answer came in time' } } }, delayMs: 0, origin: 'live', seq: 0 }];
    expect(announcing.update(turn, 1)).toEqual({ polite: 'Reply of turn 3: Sorry', alert: 'Model policy failed: no answer came in time' });
  });

  it('announces faults immediately', () => {
    const [announcing, turn] = [new TurnAnnouncer(), running()];
    announcing.update(turn, 0);
    end(turn, { fault: { code: 'LLM_FAILED', message: 'no answer', recoverable: true }, payload: { type: 'TEXT', value: 'Sorry' } });
    expect(announcing.update(turn, 1)).toEqual({ polite: 'Reply of turn 3: Sorry', alert: 'Turn 3 failed: LLM_FAILED, no answer' });
    const broken = running();
    announcing.update(broken, 2);
    Object.assign(broken, { running: false, error: { code: 'ENGINE_STOPPED', message: 'unreachable' } });
    expect(announcing.update(broken, 3)).toEqual({ polite: '', alert: 'Turn 3 failed: ENGINE_STOPPED, unreachable' });
  });
});

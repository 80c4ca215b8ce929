import { describe, expect, it } from 'vitest';
import type { Outcome } from '../src/types';
import { Announcing, FIRST_MS, PAUSE_MS, type Heard } from '../src/view/chat/announcing';

const running = (doing = 'Working'): Heard => ({ number: 3, running: true, doing, record: undefined, error: undefined });
const SILENCE = { polite: '', alarm: '' };

/** Ends a turn, as the page does in place. */
function end(turn: Heard, outcome: Partial<Outcome>): Heard {
  turn.running = false;
  turn.record = { outcome: { conversation_id: 'c', intent: null, state: null, payload: null, context: {}, fault: null, writes: [], ...outcome } };
  return turn;
}

describe('what is announced of the chat', () => {
  it('is the reply, once', () => {
    const [announcing, turn] = [new Announcing(), running()];
    expect(announcing.hear(turn, 0)).toEqual(SILENCE);
    end(turn, { payload: { type: 'TEXT', value: 'Hello' } });
    expect(announcing.hear(turn, 10)).toEqual({ polite: 'Reply of turn 3: Hello', alarm: '' });
    expect(announcing.hear(turn, 20)).toBeUndefined();
  });

  it('is nothing when another branch is shown, whose turns have ended', () => {
    const announcing = new Announcing();
    const other = end(running(), { payload: { type: 'TEXT', value: 'Hello' } });
    expect(announcing.hear(other, 0)).toBeUndefined();
    announcing.hear(running(), 10);
    expect([announcing.hear(other, 20), announcing.hear(undefined, 30), announcing.wait(40)]).toEqual([undefined, undefined, undefined]);
  });

  it('is the work of a long turn, and not more often than every few seconds', () => {
    const [announcing, turn] = [new Announcing(), running('a')];
    announcing.hear(turn, 0);
    expect([announcing.wait(0), announcing.hear(turn, FIRST_MS - 1)]).toEqual([FIRST_MS, undefined]);
    expect(announcing.hear(turn, FIRST_MS)).toEqual({ polite: 'a', alarm: '' });
    expect(announcing.wait(FIRST_MS)).toBeUndefined();
    turn.doing = 'b';
    expect([announcing.hear(turn, FIRST_MS + 1), announcing.wait(FIRST_MS + 1)]).toEqual([undefined, PAUSE_MS - 1]);
    expect(announcing.hear(turn, FIRST_MS + PAUSE_MS)?.polite).toBe('b');
  });

  it('interrupts for what went wrong', () => {
    const [announcing, turn] = [new Announcing(), running()];
    announcing.hear(turn, 0);
    end(turn, { fault: { code: 'LLM_FAILED', message: 'no answer', recoverable: true }, payload: { type: 'TEXT', value: 'Sorry' } });
    expect(announcing.hear(turn, 1)).toEqual({ polite: 'Reply of turn 3: Sorry', alarm: 'Turn 3 failed: LLM_FAILED, no answer' });
    const broken = running();
    announcing.hear(broken, 2);
    Object.assign(broken, { running: false, error: { code: 'ENGINE_STOPPED', message: 'unreachable' } });
    expect(announcing.hear(broken, 3)).toEqual({ polite: '', alarm: 'Turn 3 failed: ENGINE_STOPPED, unreachable' });
  });
});

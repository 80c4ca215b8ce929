import { describe, expect, it } from 'vitest';
import { usageText } from '../src/usage';
import type { TimelineTurn } from '../src/timeline/items';
import { llm, Script, tool } from './timeline/turn';

const usage = { input_tokens: 300, output_tokens: 40 };
const finish = (script: Script) => script.finish(1);
const usageOf = (turn: TimelineTurn, newCallCount = 0, reason = '') => usageText({ ...turn, newCallCount, reason });

describe('usage of a turn', () => {
  const turn = finish(
    new Script().addEffect(llm('a'), { text: 'x', usage }, 'live', 700).addEffect(tool('t'), {}, 'script', 500).addEffect(llm('b'), { text: 'y', usage }, 'reused', 300),
  );

  it('adds up calls, tokens and both clocks', () => {
    expect(usageOf(turn, 1)).toEqual({
      line: '2 model calls (1 new), 680 tokens, took 1.5 s, ran in 1 ms',
      long: 'The engine requested 3 effects, including 2 model calls (1 new). 600 input and 80 output tokens. 1.5 s on the conversation’s clock. 1 ms of real time.',
    });
  });

  it('shows zero new calls on branches only', () => {
    expect(usageOf(turn).line).toContain('2 model calls, 680');
    expect(usageOf(turn, 0, 'says no').line).toContain('2 model calls (0 new)');
    expect(usageOf(turn, 2).line).toContain('2 new model calls');
  });

  it('omits zeros', () => {
    expect(usageOf(finish(new Script())).line).toBe('ran in 1 ms');
    expect(usageOf(finish(new Script().addEffect(llm('a'), 'timeout')), 1).line).toBe('1 new model call, ran in 1 ms');
    expect(usageOf(finish(new Script().addEffect(tool('t'), {}))).line).toBe('1 effect, ran in 1 ms');
    expect(usageOf({ ...turn, exchanges: [], record: undefined })).toEqual({ line: '', long: '' });
  });
});

import { describe, expect, it } from 'vitest';
import { usageText } from '../src/usage';
import type { TimelineTurn } from '../src/timeline/items';
import { llm, Script, tool } from './timeline/turn';

const usage = { input_tokens: 300, output_tokens: 40 };
const played = (script: Script) => script.ends(1);
const costs = (turn: TimelineTurn, newCallCount = 0, reason = '') => usageText({ ...turn, newCallCount, reason });

describe('what a turn cost', () => {
  const turn = played(
    new Script().asks(llm('a'), { text: 'x', usage }, 'live', 700).asks(tool('t'), {}, 'script', 500).asks(llm('b'), { text: 'y', usage }, 'reused', 300),
  );

  it('adds up calls, tokens and both clocks', () => {
    expect(costs(turn, 1)).toEqual({
      line: '2 model calls (1 new), 680 tokens, took 1.5 s, ran in 1 ms',
      long: 'The engine requested 3 effects, including 2 model calls (1 new). 600 input and 80 output tokens. 1.5 s on the conversation’s clock. 1 ms of real time.',
    });
  });

  it('says that no call is new only of a branch', () => {
    expect(costs(turn).line).toContain('2 model calls, 680');
    expect(costs(turn, 0, 'says no').line).toContain('2 model calls (0 new)');
    expect(costs(turn, 2).line).toContain('2 new model calls');
  });

  it('leaves out what there is none of', () => {
    expect(costs(played(new Script())).line).toBe('ran in 1 ms');
    expect(costs(played(new Script().asks(llm('a'), 'timeout')), 1).line).toBe('1 new model call, ran in 1 ms');
    expect(costs(played(new Script().asks(tool('t'), {}))).line).toBe('1 effect, ran in 1 ms');
    expect(costs({ ...turn, exchanges: [], record: undefined })).toEqual({ line: '', long: '' });
  });
});

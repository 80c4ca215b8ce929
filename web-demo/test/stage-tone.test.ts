import { describe, expect, it } from 'vitest';
import { gist, tone } from '../src/grouping';

describe('gist and tone', () => {
  it('says the first plain values', () => {
    expect(gist({ intent: 'LOAN', locked: false, more: {}, score: 0.9, source: 'REGEX', last: 1 })).toBe(
      'intent LOAN · score 0.9 · source REGEX',
    );
    expect(gist(null)).toBe('');
  });

  it('tells stages apart', () => {
    expect(['RULE_MATCH (RulesStep)', 'RULE_NO_MATCH (RulesStep)', 'POLICY_BLOCK', 'STEP_ERROR'].map(tone)).toEqual([
      'hit',
      'idle',
      'held',
      'bad',
    ]);
  });
});

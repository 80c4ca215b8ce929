import { describe, expect, it } from 'vitest';
import { payloadSummary, stageTone } from '../src/stage-tone';

describe('payload summary and stage tone', () => {
  it('shows the first scalar values', () => {
    expect(payloadSummary({ intent: 'LOAN', locked: false, more: {}, score: 0.9, source: 'REGEX', last: 1 })).toBe(
      'intent LOAN · score 0.9 · source REGEX',
    );
    expect(payloadSummary(null)).toBe('');
  });

  it('classifies stages', () => {
    expect(['RULE_MATCH (RulesStep)', 'RULE_NO_MATCH (RulesStep)', 'POLICY_BLOCK', 'STEP_ERROR'].map(stageTone)).toEqual([
      'success',
      'idle',
      'warning',
      'error',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { describeDecision } from '../../src/inspector/decision';
import type { Candidate, StepInfo, Explanation } from '../../src/types';

const steps: StepInfo[] = ['Rules', 'Response', 'Rules'].map((step, index) => ({ step, seq: index * 10, finished: true, changed: false }));
const row = (id: number, verdict: Candidate['verdict'], table = 'ce_rule'): Candidate => ({ table, id, verdict });
const why = (seq: number, step: string, topic: string, rows: Candidate[], verdict = ''): Explanation => ({ seq, step, topic, rows, verdict });

describe('the decision of a step', () => {
  const explanations = [
    why(1, 'Rules', 'rules', [row(131, 'matched'), row(7, 'not_matched')], '1 of 2 rules apply'),
    why(12, 'Response', 'response', [row(2, 'won', 'ce_response'), row(3, 'lost', 'ce_response')]),
    why(21, 'Rules', 'rules', [row(4, 'matched'), row(5, 'matched')]),
    why(22, 'Rules', 'rules', [row(4, 'matched')]),
  ];

  it('names the rows that won or matched, each once', () => {
    expect([0, 1, 2].map((step) => describeDecision({ steps, explanations }, step))).toEqual(['rule 131 matched', 'response 2 won', 'rules 4 and 5 matched']);
  });

  it('is the last verdict if no row decided', () => {
    const gates = [why(1, 'Rules', 'planner', [row(1, 'matched', 'gate')], 'The guardrail holds back'), why(2, 'Rules', 'policy', [])];
    expect(describeDecision({ steps, explanations: gates }, 0)).toBe('the guardrail holds back');
    expect(describeDecision({ steps, explanations: gates }, 1)).toBe('');
  });
});

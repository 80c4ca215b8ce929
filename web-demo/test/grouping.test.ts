import { describe, expect, it } from 'vitest';
import { gist, groups, idle, stepViews, tone } from '../src/grouping';
import type { Json, Notice, View } from '../src/types';

let seq = 0;
const audit = (stage: string, payload: Json = {}): Notice => ({ seq: seq++, at: seq, kind: 'audit', stage, payload });
const verbose = (step: string, text: string): Notice => ({
  seq: seq++,
  at: seq,
  kind: 'verbose',
  step,
  determinant: 'STEP_ENTER',
  level: 'INFO',
  text,
});
const stages = (notices: Notice[]) => notices.map((it) => (it.kind === 'audit' ? it.stage : it.text));

describe('groups', () => {
  it('collects what is said between entering and leaving a step', () => {
    const found = groups([
      audit('USER_INPUT'),
      audit('STEP_ENTER', { step: 'RulesStep' }),
      audit('RULE_MATCH'),
      verbose('RulesStep', 'looking'),
      audit('STEP_EXIT', { step: 'RulesStep', outcome: 'Continue', durationMs: 3 }),
      audit('ENGINE_RETURN'),
    ]);
    expect(found.map((it) => [it.step, it.outcome, it.durationMs, stages(it.notices)])).toEqual([
      [null, null, null, ['USER_INPUT']],
      ['RulesStep', 'Continue', 3, ['RULE_MATCH', 'looking']],
      [null, null, null, ['ENGINE_RETURN']],
    ]);
  });

  it('marks a step that failed and keeps its error', () => {
    const [group] = groups([
      audit('STEP_ENTER', { step: 'McpToolStep' }),
      audit('STEP_ERROR', { step: 'McpToolStep', errorMessage: 'no answer' }),
    ]);
    expect(group).toMatchObject({ step: 'McpToolStep', failed: true, outcome: 'Error' });
    expect(stages(group?.notices ?? [])).toEqual(['STEP_ERROR']);
  });

  it('returns to the outer step when an inner one ends', () => {
    const found = groups([
      audit('STEP_ENTER', { step: 'Outer' }),
      audit('STEP_ENTER', { step: 'Inner' }),
      audit('A'),
      audit('STEP_EXIT', { step: 'Inner' }),
      audit('B'),
      audit('STEP_EXIT', { step: 'Outer' }),
    ]);
    expect(found.map((it) => [it.step, stages(it.notices)])).toEqual([
      ['Outer', ['B']],
      ['Inner', ['A']],
    ]);
  });
});

describe('stepViews', () => {
  it('pairs the edges of each step, even of one that ran twice or did not finish', () => {
    const view = (step: string, edge: View['edge'], at: number): View => ({ step, edge, seq: at, session: { at } });
    const found = stepViews([
      view('A', 'before', 0),
      view('A', 'after', 1),
      view('A', 'before', 2),
      view('A', 'after', 3),
      view('B', 'before', 4),
    ]);
    expect(found.map((it) => [it.step, it.before['at'], it.after?.['at'] ?? null])).toEqual([
      ['A', 0, 1],
      ['A', 2, 3],
      ['B', 4, null],
    ]);
  });
});

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

  it('knows a step that had nothing to do', () => {
    const found = groups([
      audit('STEP_ENTER', { step: 'McpToolStep' }),
      audit('RULE_NO_MATCH (McpToolStep PreMcp)'),
      audit('MCP_NO_TOOLS_AVAILABLE'),
      audit('STEP_EXIT', { step: 'McpToolStep' }),
      audit('STEP_ENTER', { step: 'RulesStep' }),
      audit('RULE_NO_MATCH (RulesStep)'),
      verbose('RulesStep', 'looking'),
      audit('STEP_EXIT', { step: 'RulesStep' }),
    ]);
    expect(found.map(idle)).toEqual([true, false]);
  });
});

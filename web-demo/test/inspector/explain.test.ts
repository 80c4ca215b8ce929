import { describe, expect, it } from 'vitest';
import { explain, toFactPairs, findNoticeRow, verdictText } from '../../src/inspector/explain';
import type { Candidate, Notice, Explanation } from '../../src/types';

const steps = ['DialogueActStep', 'RulesStep', 'RulesStep'].map((step, index) => ({ step, seq: index * 10, finished: true, changed: false }));
const row = (id: number, verdict: Candidate['verdict'], score?: number): Candidate => ({ table: 'ce_rule', id, verdict, ...(score === undefined ? {} : { score }) });
const why = (seq: number, step: string, rows: Candidate[] = []): Explanation => ({ seq, step, topic: 'rules', verdict: 'Rule 1 won.', rows });
const ids = (rows: Candidate[]) => rows.map((it) => it.id);

describe('reasons', () => {
  it('stand by the step that they were given in, even at its very end', () => {
    const explanations = [why(3, 'DialogueActStep'), why(10, 'DialogueActStep'), why(15, 'RulesStep'), why(20, 'RulesStep')];
    const told = (step?: number) => explain({ steps, notices: [], explanations }, step).map((it) => [it.key, it.step, it.entries.length]);
    expect(told()).toEqual([
      ['0', 'Dialogue act', 2],
      ['1', 'Rules', 1],
      ['2', 'Rules', 1],
    ]);
    expect(told(1)).toEqual([['1', 'Rules', 1]]);
  });

  it('name the winner first, then who came near, and put aside what was not in scope', () => {
    const rows = [row(1, 'out_of_scope'), row(2, 'lost', 3), row(3, 'matched'), row(4, 'lost', 9), row(5, 'won'), row(6, 'not_reached'), row(7, 'failed')];
    const [entry] = explain({ steps, notices: [], explanations: [why(12, 'RulesStep', rows)] }, 1)[0]!.entries;
    // The step is called so as well.
    expect([entry?.topic, entry?.verdict]).toEqual(['', 'Rule 1 won.']);
    expect([ids(entry!.winners), ids(entry!.nearMisses), ids(entry!.skipped)]).toEqual([[5, 3], [4, 2, 7], [1, 6]]);
  });

  it('are read out of the decisions where the engine gives none', () => {
    const audit = (seq: number, stage: string, payload: Record<string, string | number>): Notice => ({ seq, at: 0, kind: 'audit', stage, payload });
    const notices = [
      audit(1, 'DIALOGUE_ACT_LLM_INPUT', { system_prompt: 'x' }),
      audit(2, 'DIALOGUE_ACT_CLASSIFIED', { userText: 'yes', dialogueAct: 'AFFIRM', dialogueActSource: 'REGEX', dialogueActConfidence: 0.9 }),
      audit(12, 'RULE_NO_MATCH (RulesStep)', { ruleId: 7, reason: 'the pattern is not there', pattern: '$.x' }),
    ];
    const [act, rules] = explain({ steps, notices, explanations: [] }, undefined);
    expect(act?.entries.map((it) => it.verdict)).toEqual(['AFFIRM, by regex 0.9']);
    expect(rules?.entries[0]?.nearMisses).toEqual([{ table: 'ce_rule', id: 7, verdict: 'not_matched', reason: 'the pattern is not there', facts: { pattern: '$.x' } }]);
  });

  it('say of gates that they let through or not', () => {
    expect([verdictText(row(1, 'not_matched'), true), verdictText(row(1, 'matched'), true), verdictText(row(1, 'not_matched'), false)]).toEqual(['lets through', 'in the way', 'did not match']);
  });

  it('find the row that something said names', () => {
    const said = (stage: string, payload: Record<string, string | number | Record<string, string>>): Notice => ({ seq: 0, at: 0, kind: 'audit', stage, payload });
    expect(findNoticeRow(said('RULE_MATCH (RulesStep)', { ruleId: 7 }))).toMatchObject({ table: 'ce_rule', id: 7, verdict: 'matched' });
    expect(findNoticeRow(said('RULE_NO_MATCH', { ruleId: 7 }))?.verdict).toBe('not_matched');
    expect(findNoticeRow(said('INTENT_CLASSIFICATION_MATCHED', { matchedByRule: { 12: 'LOAN' } }))).toMatchObject({ table: 'ce_intent_classifier', id: '12' });
    expect(findNoticeRow(said('USER_INPUT', { text: 'a' }))).toBeUndefined();
    expect(findNoticeRow({ seq: 0, at: 0, kind: 'verbose', step: 'S', determinant: 'D', level: 'INFO', text: 'x' })).toBeUndefined();
  });

  it('write facts as paths and values', () => {
    expect(toFactPairs({ state: 'OPEN', complete: false, list: [1] })).toEqual([
      ['state', 'OPEN'],
      ['complete', 'false'],
      ['list', '[1]'],
    ]);
    expect(toFactPairs(undefined)).toEqual([]);
  });
});

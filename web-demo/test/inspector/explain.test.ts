import { describe, expect, it } from 'vitest';
import { explain, splitTerms, toFactPairs, findNoticeRow, verdictText } from '../../src/inspector/explain';
import type { Candidate, Notice, Explanation } from '../../src/types';

const steps = ['DialogueActStep', 'RulesStep', 'RulesStep'].map((step, index) => ({ step, seq: index * 10, finished: true, changed: false }));
const row = (id: number, verdict: Candidate['verdict'], score?: number): Candidate => ({ table: 'ce_rule', id, verdict, ...(score === undefined ? {} : { score }) });
const explanation = (seq: number, step: string, rows: Candidate[] = []): Explanation => ({ seq, step, topic: 'rules', verdict: 'Rule 1 won.', rows });
const ids = (rows: Candidate[]) => rows.map((it) => it.id);

describe('explanations', () => {
  it('belong to the step that published them, even at its very end', () => {
    const explanations = [explanation(3, 'DialogueActStep'), explanation(10, 'DialogueActStep'), explanation(15, 'RulesStep'), explanation(20, 'RulesStep')];
    const summary = (step?: number) => explain({ steps, explanations }, step).map((it) => [it.key, it.step, it.entries.length]);
    expect(summary()).toEqual([
      ['0', 'Dialogue act', 2],
      ['1', 'Rules', 1],
      ['2', 'Rules', 1],
    ]);
    expect(summary(1)).toEqual([['1', 'Rules', 1]]);
  });

  it('list winners first, then near misses, and separate what was out of scope', () => {
    const rows = [row(1, 'out_of_scope'), row(2, 'lost', 3), row(3, 'matched'), row(4, 'lost', 9), row(5, 'won'), row(6, 'not_reached'), row(7, 'failed')];
    const [entry] = explain({ steps, explanations: [explanation(12, 'RulesStep', rows)] }, 1)[0]!.entries;
    // The topic equals the step name.
    expect([entry?.topic, entry?.verdict]).toEqual(['', 'Rule 1 won.']);
    expect([ids(entry!.winners), ids(entry!.nearMisses), ids(entry!.skipped)]).toEqual([[5, 3], [4, 2, 7], [1, 6]]);
  });

  it('of a flow belong to their node, and those before the first node to no step', () => {
    const nodes = ['g/ask', 'g/branch'].map((step, index) => ({ step, seq: 2 + index * 3, finished: true, changed: false }));
    const flow = (seq: number, step: string, topic: string): Explanation => ({ seq, step, topic, verdict: 'decided', rows: [] });
    const explanations = [flow(1, 'dispatch', 'route'), flow(2, 'match', 'intent_match'), flow(2, 'g/ask', 'slot'), flow(6, 'g/ask', 'slot'), flow(6, 'g/branch', 'route')];
    expect(explain({ steps: nodes, explanations }, undefined).map((it) => [it.step, it.entries.map((entry) => entry.topic)])).toEqual([
      ['Outside any step', ['Route', 'Intent']],
      ['g/ask', ['Slot', 'Slot']],
      ['g/branch', ['Route']],
    ]);
  });

  it('are not made up from notices', () => {
    expect(explain({ steps, explanations: [] }, undefined)).toEqual([]);
  });

  it('describe gates as passed or blocked', () => {
    expect([verdictText(row(1, 'not_matched'), true), verdictText(row(1, 'matched'), true), verdictText(row(1, 'not_matched'), false)]).toEqual(['passed', 'blocked', 'did not match']);
  });

  it('find the row named by a notice', () => {
    const audit = (stage: string, payload: Record<string, string | number | Record<string, string>>): Notice => ({ seq: 0, at: 0, kind: 'audit', stage, payload });
    expect(findNoticeRow(audit('RULE_MATCH (RulesStep)', { ruleId: 7 }))).toMatchObject({ table: 'ce_rule', id: '7', verdict: 'matched' });
    expect(findNoticeRow(audit('RULE_NO_MATCH', { ruleId: 7 }))?.verdict).toBe('not_matched');
    expect(findNoticeRow(audit('INTENT_CLASSIFICATION_MATCHED', { matchedByRule: { 12: 'LOAN' } }))).toMatchObject({ table: 'ce_intent_classifier', id: '12' });
    expect(findNoticeRow(audit('USER_INPUT', { text: 'a' }))).toBeUndefined();
    expect(findNoticeRow({ seq: 0, at: 0, kind: 'verbose', step: 'S', determinant: 'D', level: 'INFO', text: 'x' })).toBeUndefined();
  });

  it('format facts as paths and values', () => {
    expect(toFactPairs({ state: 'OPEN', complete: false, list: [1] })).toEqual([
      ['state', 'OPEN'],
      ['complete', 'false'],
      ['list', '[1]'],
    ]);
    expect(toFactPairs(undefined)).toEqual([]);
  });

  it('of a lexical match have the terms for and against an intent, the weightiest first', () => {
    const facts = { score: 1.2, margin: 0.4, for: { '12': 0.1, _pin: 0.7 }, against: { card: -0.3, lost: -0.5 } };
    const { terms, facts: others } = splitTerms(facts);
    expect(terms.map((it) => `${it.term} ${it.weight}`)).toEqual(['_pin 0.7', '12 0.1', 'lost -0.5', 'card -0.3']);
    expect(others).toEqual({ score: 1.2, margin: 0.4 });
    const candidate: Candidate = { name: 'balance', verdict: 'won', score: 0.87, facts };
    const why: Explanation = { seq: 12, step: 'RulesStep', topic: 'lexical', about: { threshold: 0.61293, known: 1 }, verdict: 'the words are alike', rows: [candidate] };
    const [entry] = explain({ steps, explanations: [why] }, 1)[0]!.entries;
    expect([entry?.topic, entry?.isLexical, entry?.about]).toEqual(['Words of the message', true, [['threshold', '0.613'], ['known', '1']]]);
  });
});

import { describe, expect, it } from 'vitest';
import { PhraseIndex, phraseIssues } from '../../src/phrases/places';
import type { PhraseReport } from '../../src/phrases/report';

const report = (it: Partial<PhraseReport>): PhraseReport => ({
  name: 'bank',
  phrases: 4,
  accuracy: 0.5,
  accepted: 0.5,
  mistaken: 0.25,
  close: 0,
  threshold: 0.6,
  classes: [],
  confusions: [],
  misleading: [],
  ...it,
});

describe('the phrases of a document', () => {
  const intents = [
    { id: 'open', name: 'Open an account', phrases: ['open please', 'a new account'] },
    { id: 'hours', name: 'Opening hours', phrases: ['please open'] },
  ];
  const pack = JSON.stringify({ documents: [{ doc: 'other' }, { doc: 'conversation_flow', id: 'bank', name: 'Bank', intents }] });
  const misleading = [
    { phrase: 'open please', class: 'open', taken_for: 'hours', confidence: 0.817 },
    { phrase: 'please open', class: 'hours', taken_for: 'open', confidence: 0.4 },
    { phrase: 'gone since', class: 'hours', taken_for: 'open', confidence: 0.9 },
  ];

  it('have issues where they would be accepted for another intent', () => {
    const issues = phraseIssues(new PhraseIndex(pack), [report({ misleading })]);
    expect(issues).toEqual([expect.objectContaining({ path: '/intents/0/phrases/0', document: 1, severity: 'warning', reason: 'taken for Opening hours (82 %)' })]);
  });

  it('have none in intents with few phrases, which need more', () => {
    const classes = [{ class: 'open', phrases: 4, recall: 0.5, precision: 1, needs_more: true }];
    expect(phraseIssues(new PhraseIndex(pack), [report({ classes, misleading })])).toEqual([]);
  });

  it('have titles, names and places', () => {
    const index = new PhraseIndex(pack);
    expect([index.title('bank'), index.name('bank', 'hours'), index.name('bank', 'unknown')]).toEqual(['Bank', 'Opening hours', 'unknown']);
    expect(index.intent('bank', 'hours')).toEqual({ path: '/intents/1/phrases', document: 1 });
    expect(index.find('bank', misleading[1]!)).toEqual([{ path: '/intents/1/phrases/0', document: 1 }]);
  });

  it('are none while the text is not JSON', () => {
    expect(phraseIssues(new PhraseIndex('{"documents": ['), [report({ misleading })])).toEqual([]);
  });
});

describe('example rows', () => {
  const rows = [
    { classifier_id: 7, rule_type: 'example', pattern: ' Where is it? ', intent_code: 'ORDERS', state_code: 'UNKNOWN' },
    { classifier_id: 8, rule_type: 'EXAMPLE', pattern: 'I am late', intent_code: 'orders', state_code: 'Late' },
    { classifier_id: 9, rule_type: 'CONTAINS', pattern: 'where', intent_code: 'ORDERS' },
  ];
  const index = new PhraseIndex(JSON.stringify({ tables: { ce_intent_classifier: rows } }));

  it('are found by intent, state and phrase; patterns are no phrases', () => {
    expect(index.find('tables', { class: 'ORDERS', phrase: 'Where is it?' })).toEqual([{ path: 'ce_intent_classifier[7].pattern' }]);
    expect(index.find('tables', { class: 'orders / LATE', phrase: 'I am late' })).toEqual([{ path: 'ce_intent_classifier[8].pattern' }]);
    expect(index.find('tables', { class: 'ORDERS', phrase: 'where' })).toEqual([]);
  });

  it('have issues in their cells', () => {
    const misleading = [{ phrase: 'Where is it?', class: 'ORDERS', taken_for: 'orders / LATE', confidence: 0.7 }];
    expect(phraseIssues(index, [report({ name: 'tables', misleading })])).toMatchObject([{ path: 'ce_intent_classifier[7].pattern', reason: 'taken for orders / LATE (70 %)' }]);
  });
});

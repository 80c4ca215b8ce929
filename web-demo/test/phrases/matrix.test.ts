import { describe, expect, it } from 'vitest';
import { confusionMatrix } from '../../src/phrases/matrix';
import type { Confusion, PhraseReport } from '../../src/phrases/report';

const intent = (name: string) => ({ class: name, phrases: 4, recall: 0.75, precision: 1, needs_more: false });
const report = (names: string[], confusions: Confusion[]) => ({ classes: names.map(intent), confusions }) as unknown as PhraseReport;

describe('the confusion matrix', () => {
  it('has the intents of the phrases as rows, and those they are taken for as columns', () => {
    const matrix = confusionMatrix(report(['a', 'b', 'c'], [{ class: 'a', taken_for: 'c', count: 1 }]));
    expect(matrix).toEqual({ intents: ['a', 'b', 'c'], counts: [[3, 0, 1], [0, 3, 0], [0, 0, 3]], hidden: 0 });
  });

  it('has only the most confused of many intents', () => {
    const names = Array.from({ length: 30 }, (_, at) => `i${at}`);
    const few = confusionMatrix(report(names, [{ class: 'i7', taken_for: 'i3', count: 2 }]));
    expect([few?.intents, few?.hidden]).toEqual([['i3', 'i7'], 0]);
    const all = names.slice(1).map((it, at) => ({ class: it, taken_for: 'i0', count: at + 1 }));
    const many = confusionMatrix(report(names, all));
    expect([many?.intents.length, many?.hidden, many?.intents.includes('i29'), many?.intents.includes('i1')]).toEqual([12, 18, true, false]);
  });

  it('is none without confusions', () => {
    expect(confusionMatrix(report(['a', 'b'], []))).toBeUndefined();
  });
});

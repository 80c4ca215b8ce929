import { describe, expect, it, vi } from 'vitest';
import { LateIssues } from '../../src/late-issues.svelte';
import type { LocatedIssue } from '../../src/locate';
import type { PhraseReport } from '../../src/phrases/report';
import type { Issue } from '../../src/types';

const pack = (...phrases: string[]) => JSON.stringify({ documents: [{ doc: 'conversation_flow', id: 'bank', intents: [{ id: 'open', phrases }, { id: 'hours', name: 'Hours' }] }] });
const report = (...phrases: string[]) => {
  const misleading = phrases.map((phrase) => ({ phrase, class: 'open', taken_for: 'hours', confidence: 0.9 }));
  return { name: 'bank', threshold: 0.6, classes: [], confusions: [], misleading } as unknown as PhraseReport;
};
const error: Issue = { severity: 'error', path: '/root', reason: 'is not a graph', hint: '', rule: 'G001' };

/** A simulator whose reports are answered by the test. */
function start(text: string) {
  const answers: ((reports: PhraseReport[]) => void)[] = [];
  const simulator = { text, issues: [] as LocatedIssue[], session: 1, client: { checkScripts: async () => [], lint: async () => [error] }, sessionCheck: () => () => true };
  simulator.sessionCheck = () => {
    const { session } = simulator;
    return () => simulator.session === session;
  };
  const late = new LateIssues(simulator, {
    report: async (_, isCurrent) => {
      const reports = await new Promise<PhraseReport[]>((resolve) => answers.push(resolve));
      return isCurrent() ? reports : undefined;
    },
  });
  const find = async (issues: Issue[] = []) => {
    const found = late.find(simulator.text, { issues, linted: true });
    const before = answers.length;
    await vi.waitFor(() => expect(answers.length).toBe(before + 1));
    return { answer: answers.at(-1)!, found };
  };
  const marked = () => simulator.issues.map((it) => simulator.text.slice(it.range?.start, it.range?.end));
  return { simulator, late, find, marked };
}

describe('issues of lint', () => {
  it('are found where the load has not linted', async () => {
    const { simulator, late } = start('{"documents": []}');
    await late.find(simulator.text, { issues: [], linted: true });
    expect(simulator.issues).toEqual([]);
    await late.find(simulator.text, { issues: [], linted: false });
    expect(simulator.issues.map((it) => it.rule)).toEqual(['G001']);
  });

  it('of an outdated text are dropped', async () => {
    const { simulator, late } = start('{"documents": []}');
    const found = late.find(simulator.text, { issues: [], linted: false });
    simulator.text = '{}';
    await found;
    expect(simulator.issues).toEqual([]);
  });
});

describe('issues of phrases', () => {
  it('are added to the others at their phrases', async () => {
    const { late, find, marked } = start(pack('please open', 'new account'));
    const { answer, found } = await find();
    expect(late.reporting).toBe(true);
    answer([report('please open')]);
    await found;
    expect([marked(), late.reporting]).toEqual([['"please open"'], false]);
  });

  it('stay while other phrases are edited, and go with their own', async () => {
    const { simulator, late, find } = start(pack('please open', 'new account'));
    const { answer, found } = await find();
    answer([report('please open', 'new account')]);
    await found;
    simulator.text = pack('please open', 'a new account');
    expect(late.addKnown(simulator.text, [error]).map((it) => it.path)).toEqual(['/root', '/intents/0/phrases/0']);
  });

  it('of an outdated text are dropped', async () => {
    const { simulator, late, find } = start(pack('please open'));
    const { answer, found } = await find();
    simulator.text = pack('open now');
    answer([report('please open')]);
    await found;
    expect([simulator.issues, late.reports]).toEqual([[], undefined]);
  });

  it('are those of the last report while the document has errors, and of none in another session', async () => {
    const { simulator, late, find } = start(pack('please open'));
    const first = await find();
    first.answer([report('please open')]);
    await first.found;
    const second = await find([error]);
    second.answer([]);
    await second.found;
    expect(late.reports).toHaveLength(1);
    simulator.session = 2;
    expect(late.addKnown(simulator.text, [])).toEqual([]);
    void find();
    expect(late.reports).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { decisionEvent, missingFields, readFields } from '../../src/chain/decision';
import { parseChain } from '../../src/chain/document';
import { isRunEvent, runEventText } from '../../src/chain/event';
import { turnProgress } from '../../src/chain/progress';
import type { FormField, Run, StepRun, Wait } from '../../src/chain/run';
import { countSteps, findStep, layOutSteps } from '../../src/chain/steps';
import { formatMoment, formatWait } from '../../src/chain/timer';
import { findNodePlace, readNodeData, writeNodeData } from '../../src/flow/edit';
import { eventText, isUserEvent } from '../../src/flow/event';
import { talkProgram } from '../../src/flow/flow-pack';
import { currentFrames, tracePath } from '../../src/flow/flow-path';
import { parseDocument } from '../../src/flow/graph';
import { redactSession } from '../../src/flow/redaction';
import { nextInput } from '../../src/user-input';
import CLAIM from '../../../tests/packs/chain/claim_desk.json?raw';
import { Script } from '../timeline/turn';

const chain = parseChain(CLAIM) ?? fail('chain');

function fail(what: string): never {
  throw new Error(`${what} is missing`);
}

function attempt(path: string, more: Partial<StepRun> = {}): StepRun {
  return { path, step_id: path.split('/').at(-1) ?? '', kind: 'webhook', status: 'succeeded', attempt: 1, started_at: '2026-01-01T09:00:00.000Z', ...more };
}

function run(primary: StepRun[], branch: StepRun[] = [], more: Partial<Run> = {}): Run {
  const usage = { llm_calls: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0 };
  return { id: 'r', chain: 'claim', status: 'running', trigger: {}, context: {}, primary_trace: primary, branch_trace: branch, attempt: 1, usage, ...more };
}

describe('a chain', () => {
  it('has steps in order, and branches that decisions and failures enter', () => {
    expect(chain.steps.map((it) => it.id)).toEqual(['collect', 'assess', 'approve', 'verdict', 'book', 'notify', 'pause', 'remind']);
    expect(findStep(chain, 'verdict')?.exits).toEqual([{ branch: 'rejected', label: 'reject' }]);
    expect([findStep(chain, 'book')?.errorBranch, findStep(chain, 'explain')?.label, findStep(chain, 'none')]).toEqual(['by_hand', 'Explain the rejection', undefined]);
    expect([parseChain('{'), parseChain('{"documents": [{"doc": "workflow_graph"}]}')]).toEqual([undefined, undefined]);
    expect(talkProgram(CLAIM)).toBe('chain claim');
  });

  it('tolerates incomplete documents', () => {
    const wild = parseChain(JSON.stringify({ documents: [{ doc: 'workflow_chain', steps: [7, { kind: 'decide', config: { cases: [{}] } }], branches: [null, { id: 'b', steps: 'none' }] }] }));
    expect(wild?.steps.map((it) => it.id)).toEqual(['/steps/0', '/steps/1']);
    expect(layOutSteps(wild ?? fail('chain'), undefined)).toHaveLength(2);
    const endless = { documents: [{ doc: 'workflow_chain', steps: [{ id: 'a', on_error: 'branch', error_branch: 'b' }], branches: [{ id: 'b', steps: [{ id: 'c', on_error: 'branch', error_branch: 'b' }] }] }] };
    expect(parseDocument(JSON.stringify(endless))?.graphs[0]?.edges.map((it) => `${it.source} ${it.target}`)).toEqual(['a c', 'c c']);
    expect(layOutSteps(parseChain(JSON.stringify(endless)) ?? fail('chain'), undefined)[0]?.branches[0]?.steps[0]?.branches).toHaveLength(1);
  });

  it('is drawn with its branches, beside the documents that it runs', () => {
    const document = parseDocument(CLAIM) ?? fail('document');
    const [graph] = document.graphs;
    expect(document.graphs.map((it) => it.id)).toEqual(['claim', 'intake:root', 'assessor:root']);
    expect(graph?.edges.map((it) => [it.source, it.target, it.label])).toEqual([
      ['collect', 'assess', ''],
      ['assess', 'approve', ''],
      ['approve', 'verdict', ''],
      ['verdict', 'book', 'else'],
      ['verdict', 'explain', 'reject'],
      ['book', 'notify', ''],
      ['book', 'hand', 'on error'],
      ['hand', 'notify', ''],
      ['notify', 'pause', ''],
      ['pause', 'remind', ''],
    ]);
    const place = findNodePlace(document, 'claim', 'hand') ?? fail('place');
    expect(JSON.parse(readNodeData(CLAIM, place))).toMatchObject({ options: ['booked'] });
    const edited = writeNodeData(CLAIM, place, '{"prompt": "Book."}');
    expect(findStep(parseChain(edited), 'hand')?.config).toEqual({ prompt: 'Book.' });
  });

  it('shows the step of a run, and the conversation of the step', () => {
    const document = parseDocument(CLAIM) ?? fail('document');
    const child = { stack: [{ graph: 'root', node: 'ask_policy', kind: 'root' }], vars: {} };
    const script = new Script()
      .addAudit('chain.step', { path: 'collect', status: 'running', attempt: 1 })
      .addAudit('agent.hop', { node: 'collect', agent: 'intake' })
      .addAudit('node.enter', { graph: 'root', node: 'begin', name: 'Begin', type: 'start' })
      .addAudit('chain.step', { path: 'collect', status: 'waiting', attempt: 1 });
    const turn = script.finish(1, { writes: [{ table: 'flow', state: { program: 'chain', cursor: 'collect', child } }] });
    const frames = currentFrames({ ...turn, parent: undefined }, undefined, document);
    expect(frames.map((it) => `${it.graph}/${it.node}`)).toEqual(['claim/collect', 'intake:root/ask_policy']);
    expect([...tracePath({ ...turn, parent: undefined }, document).nodes]).toEqual(['claim/collect', 'intake:root/begin']);
  });
});

describe('the steps of a run', () => {
  it('have the status of their last attempt, and branches only once they are entered', () => {
    const failed = run(
      [attempt('collect'), attempt('book', { status: 'failed' }), attempt('book', { status: 'failed', attempt: 2 })],
      [attempt('book/by_hand/hand', { status: 'waiting' })],
      { cursor: 'book/by_hand/hand' },
    );
    const steps = layOutSteps(chain, failed);
    expect(steps.map((it) => it.status)).toEqual(['succeeded', 'pending', 'pending', 'pending', 'failed', 'pending', 'pending', 'pending']);
    const [byHand] = steps[4]?.branches ?? [];
    expect([steps[4]?.attempts.length, byHand?.isTaken, byHand?.label, byHand?.steps[0]?.status, byHand?.steps[0]?.isCurrent]).toEqual([2, true, 'on error', 'waiting', true]);
    expect(steps[3]?.branches.map((it) => it.isTaken)).toEqual([false]);
    expect(countSteps(steps)).toEqual({ done: 2, all: 9 });
  });

  it('are listed for the turn that moved them, with retries and branches', () => {
    const waiting = run([attempt('collect'), attempt('approve', { status: 'waiting' })]);
    const after = run(
      [attempt('collect'), attempt('approve'), attempt('verdict'), attempt('book', { status: 'failed' })],
      [],
    );
    const { notices } = new Script()
      .addAudit('workflow_chain.resume', { path: 'approve', by: 'Kim' })
      .addAudit('chain.step', { path: 'approve', status: 'succeeded', attempt: 1 })
      .addAudit('chain.step', { path: 'verdict', status: 'running', attempt: 1 })
      .addAudit('decide.match', { path: 'verdict', branch: 'rejected' })
      .addAudit('chain.step', { path: 'verdict', status: 'succeeded', attempt: 1 })
      .addAudit('chain.step', { path: 'book', status: 'failed', attempt: 1 })
      .addAudit('chain.retry', { path: 'book', delay_ms: 500 })
      .finish(1);
    const progress = turnProgress(notices, waiting, after);
    expect(progress.map((it) => [it.attempt.path, it.attempt.status, it.retryMs, it.branch])).toEqual([
      ['approve', 'succeeded', undefined, undefined],
      ['verdict', 'succeeded', undefined, 'rejected'],
      ['book', 'failed', 500, undefined],
    ]);
    expect(turnProgress(notices, after, after)).toEqual([]);
  });
});

describe('the decision of a person', () => {
  const form: FormField[] = [
    { name: 'amount', type: 'number', required: true },
    { name: 'insured', type: 'boolean', default: true },
    { name: 'note', type: 'string' },
    { name: 'parts', type: 'array' },
  ];

  it('has fields of their types; empty ones are left out', () => {
    expect(readFields(form, { amount: ' 12.5 ', insured: 'false', note: '', parts: '["wheel"]' })).toEqual({ amount: 12.5, insured: false, parts: ['wheel'] });
    expect(readFields(form, { amount: 'much', parts: 'a wheel' })).toEqual({ amount: 'much', insured: true, parts: 'a wheel' });
    expect([missingFields(form, {}), missingFields(form, { amount: '1' })]).toEqual([['amount'], []]);
  });

  it('is an event of the run', () => {
    const wait: Wait = { kind: 'human', path: 'approve', step_id: 'approve', attempt: 1, form };
    expect(decisionEvent(wait, 'approve', { amount: '1' }, ' fine ', 'Kim')).toEqual({ type: 'run.resume', step: 'approve', decision: 'approve', fields: { amount: 1, insured: true }, comment: 'fine', by: 'Kim' });
    expect(decisionEvent({ ...wait, form: [] }, '', {}, '', '')).toEqual({ type: 'run.resume', step: 'approve' });
  });
});

describe('an event of a run', () => {
  it('has a short text', () => {
    const texts = [
      { type: 'chain.start', trigger: { kind: 'manual' } },
      { type: 'run.resume', step: 's', decision: 'approve', by: 'Kim' },
      { type: 'run.resume', step: 's' },
      { type: 'run.resume', text: 'hello' },
      { type: 'run.ingress', step: 's', body: {} },
      { type: 'run.cancel', reason: 'late' },
      { type: 'run.retry' },
    ].map((it) => (isRunEvent(it) ? runEventText(it) : ''));
    expect(texts).toEqual(['Run started', 'Kim decided: approve', 'A person decided', 'hello', 'Webhook received for s', 'Run cancelled: late', 'Run retried']);
    expect(eventText({ type: 'timer.fired', timer_id: 'retry' })).toBe('Timer retry fired');
    expect([isUserEvent({ type: 'run.resume', text: 'hello' }), isUserEvent({ type: 'run.resume', decision: 'x' })]).toEqual([true, false]);
  });

  it('is what a typed message becomes', () => {
    const to = { main: 'id', flow: true, chain: true };
    expect(nextInput({ message: 'hi' }, undefined, to)).toMatchObject({ message: 'hi', event: '{"type":"run.resume","text":"hi"}' });
    expect(nextInput({ message: '', event: { type: 'run.retry' } }, undefined, to)).toMatchObject({ message: 'Run retried', event: '{"type":"run.retry"}' });
  });
});

describe('times', () => {
  it('are short', () => {
    expect([500, 30_000, 90_000, 7_200_000, 86_400_000, 259_200_000].map(formatWait)).toEqual(['500 ms', '30 s', '1.5 min', '2 h', '1 day', '3 days']);
    expect(['2026-01-04T09:00:00.000Z', '2026-01-04T09:00:30.000Z', 'later'].map(formatMoment)).toEqual(['2026-01-04 09:00', '2026-01-04 09:00:30', 'later']);
  });
});

describe('redactSession', () => {
  it('hides the variables of nested programs and of the conversation of a run', () => {
    const nested = { vars: { card: '1', _child: { n: { vars: { card: '2' } } } }, child: { vars: { card: '3' } } };
    expect(redactSession(nested, ['card'])).toEqual({ vars: { card: '[card]', _child: { n: { vars: { card: '[card]' } } } }, child: { vars: { card: '[card]' } } });
  });
});

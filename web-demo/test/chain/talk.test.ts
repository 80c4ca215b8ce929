import { describe, expect, it } from 'vitest';
import type { FlowEvent } from '../../src/flow/event';
import { eventLine } from '../../src/session/flow-talk';
import { parseTalk } from '../../src/session/talk-reader';
import type { UserInput } from '../../src/session/turn-data';

const line = (event: FlowEvent) => eventLine({ message: '', event: JSON.stringify(event) } as UserInput);

/** The requests of a talk of a run with these lines. */
function requests(...lines: string[]): [path: string | undefined, body: unknown][] {
  const text = ['program chain claim', 'config claim.json', ...lines.flatMap((it) => ['', `> ${it}`, '? status = "running"'])].join('\n');
  return parseTalk(text).turns.map((it) => [it.path, JSON.parse(it.body)]);
}

const RUN = '/v1/workflow-chains/claim/runs/${SESSION}';

describe('the talk of a run', () => {
  it('has a line for each event, which is read back as the request of the server', () => {
    const lines = [
      line({ type: 'chain.start', trigger: { kind: 'manual', body: { text: 'hi' } } }),
      line({ type: 'chain.start', trigger: { kind: 'schedule' } }),
      line({ type: 'chain.start', trigger: { kind: 'webhook', body: { a: 1 } } }),
      line({ type: 'run.resume', text: 'my car' }),
      line({ type: 'run.resume', text: '/odd' }),
      line({ type: 'run.resume', step: 'approve', decision: 'yes' }),
      line({ type: 'run.ingress', step: 'wait', body: { b: 2 } }),
      line({ type: 'timer.fired', timer_id: 'wake' }),
      line({ type: 'run.cancel', reason: 'late' }),
      line({ type: 'run.retry' }),
    ];
    expect(requests(...lines)).toEqual([
      ['/v1/workflow-chains/claim/run', { input: { text: 'hi' } }],
      ['/v1/workflow-chains/claim/run', { input: null }],
      ['/v1/public/chains/claim/ingress', { a: 1 }],
      [`${RUN}/resume`, { text: 'my car' }],
      [`${RUN}/resume`, { text: '/odd' }],
      [`${RUN}/resume`, { step: 'approve', decision: 'yes' }],
      ['/v1/public/chains/claim/ingress/wait?run=${SESSION}', { b: 2 }],
      [`${RUN}/timers/wake`, {}],
      [`${RUN}/cancel`, { reason: 'late' }],
      [`${RUN}/retry`, {}],
    ]);
  });

  it('refuses lines that are no events', () => {
    expect(() => requests('/timer')).toThrow('the id of the timer');
    expect(() => requests('/resume {')).toThrow('JSON object');
    expect(() => requests('/ingress')).toThrow('the id of the step');
  });
});

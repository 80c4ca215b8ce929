import { describe, expect, it } from 'vitest';
import { deskEvents, handoffFacts, handoffNote } from '../../src/flow/desk';
import type { FlowAnswer, Handoff } from '../../src/flow/session';

const SINCE = '2026-01-01T09:00:00.000Z';
const handoff = (more: Partial<Handoff> = {}): Handoff => ({ correlation_id: 'c', state: 'queued', requested_at: SINCE, ...more });
const answer = (status: string, warnings: string[] = []) => ({ status, debug: { warnings } }) as unknown as FlowAnswer;

describe('the desk', () => {
  it('sends what a person does, with the author if there is one', () => {
    const events = deskEvents(' Ann ');
    expect(events.accept()).toEqual({ type: 'handoff.status', state: 'accepted', author: 'Ann' });
    expect(events.message('Hello')).toEqual({ type: 'handoff.message', text: 'Hello', author: 'Ann' });
    expect(deskEvents('').decline(' closed ')).toEqual({ type: 'handoff.status', state: 'failed', message: 'closed' });
  });

  it('returns variables as JSON, or else as text', () => {
    const returned = [
      { name: 'amount', value: '12.5' },
      { name: 'note', value: 'call back' },
    ];
    expect(deskEvents('').finish('returned', returned, '')).toEqual({
      type: 'handoff.status',
      state: 'completed',
      disposition: 'returned',
      vars: { amount: 12.5, note: 'call back' },
    });
    expect(deskEvents('').finish('resolved', [], 'Bye')).toEqual({ type: 'handoff.status', state: 'completed', disposition: 'resolved', message: 'Bye' });
  });

  it('sees ticket, position and times', () => {
    const facts = Object.fromEntries(handoffFacts(handoff({ ticket: 'T-7', position: 2, eta_ms: 300_000, queue: 'cards' }), Date.parse(SINCE) + 60_000));
    expect(facts).toEqual({ State: 'waiting for a person', Queue: 'cards', Ticket: 'T-7', Position: '2', 'Expected wait': '5 min', 'Waiting for': '60 s' });
    const accepted = handoffFacts(handoff({ state: 'accepted', author: 'Ann' }), Date.parse(SINCE) + 180_000);
    expect(Object.fromEntries(accepted)).toEqual({ State: 'accepted', With: 'Ann', Requested: '3 min ago' });
  });
});

describe('a message of the user during a handoff', () => {
  const message = { event: '{"type":"user.message","text":"hi"}' };

  it('is relayed, or not delivered', () => {
    expect(handoffNote(message, answer('handed_off'), answer('handed_off'))).toBe('Relayed to the desk');
    expect(handoffNote(message, answer('handed_off'), answer('handed_off', ['handoff.relay_failed']))).toBe('Not delivered to the desk');
    expect(handoffNote(message, answer('awaiting_input'), answer('handed_off'))).toBe('');
    expect(handoffNote({ event: '{"type":"handoff.message","text":"hi"}' }, answer('handed_off'), answer('handed_off'))).toBe('');
  });

  it('of the desk is ignored when late or by another person', () => {
    expect(handoffNote(message, answer('awaiting_input'), answer('awaiting_input', ['handoff.late']))).toContain('nothing is handed off');
    expect(handoffNote(message, answer('handed_off'), answer('handed_off', ['handoff.taken']))).toContain('another person');
  });
});

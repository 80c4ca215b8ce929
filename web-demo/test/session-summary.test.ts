import { describe, expect, it } from 'vitest';
import { summarizeSession, withoutContextCopy } from '../src/session-summary';
import type { JsonObject } from '../src/types';

const lines = (session: JsonObject) => summarizeSession(session).map((it) => `${it.open ? '* ' : ''}${it.name}: ${it.value}`);

describe('how a conversation stands', () => {
  it('names what is collected, what is missing and what is remembered', () => {
    const context = { amount: 8000, note: null, other: 'x', memory: { session_summary: 'wants a loan' } };
    const session = {
      intent: 'LOAN',
      state: 'COLLECT',
      schemaJson: { amount: 8000, note: null },
      missingRequiredFields: ['term', 'number'],
      intentLockReason: 'SCHEMA_INCOMPLETE',
      context,
    };
    expect(lines(session)).toEqual([
      'At: LOAN / COLLECT',
      'Values: amount 8000',
      '* Missing: term, number',
      '* Intent held: SCHEMA_INCOMPLETE',
      'Remembered: wants a loan',
    ]);
  });

  it('names the pending action, and its limit only while it is open', () => {
    const at = (status: string, turn: number) => ({
      context: { pending_action_runtime: { status, action_key: 'REPLACE', action_ref: 'card:replace', expires_turn: turn } },
    });
    expect(lines(at('OPEN', 4))).toEqual(['* Pending action: REPLACE OPEN, lapses in turn 4']);
    expect(lines(at('IN_PROGRESS', -1))).toEqual(['* Pending action: REPLACE IN_PROGRESS']);
    expect(lines(at('EXECUTED', 4))).toEqual(['Pending action: REPLACE EXECUTED']);
  });

  it('names questions', () => {
    const session = { pendingClarificationQuestion: 'Which one?', context: { guardrail_pending: { text: 'close it' } } };
    expect(lines(session)).toEqual(['* Question: Which one?', '* For approval: close it']);
  });
});

describe('the copy of the context', () => {
  it('is left out while no schema is known', () => {
    const context = { a: 1 };
    expect(withoutContextCopy({ schemaJson: { a: 1 }, context })).toEqual({ context });
    expect(lines({ schemaJson: { a: 1 }, context })).toEqual([]);
    expect(withoutContextCopy({ schemaJson: {}, context })).toEqual({ schemaJson: {}, context });
  });
});

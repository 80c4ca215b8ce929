import { describe, expect, it } from 'vitest';
import { summarizeSession, withoutContextCopy } from '../src/session-summary';
import type { JsonObject } from '../src/types';

const lines = (session: JsonObject) => summarizeSession(session).map((it) => `${it.open ? '* ' : ''}${it.name}: ${it.value}`);

describe('a session summary', () => {
  it('lists collected values, missing values and memory', () => {
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
      'Position: LOAN / COLLECT',
      'Values: amount 8000',
      '* Missing: term, number',
      '* Intent lock: SCHEMA_INCOMPLETE',
      'Memory: wants a loan',
    ]);
  });

  it('lists the pending action, with its expiry only while it is open', () => {
    const at = (status: string, turn: number) => ({
      context: { pending_action_runtime: { status, action_key: 'REPLACE', action_ref: 'card:replace', expires_turn: turn } },
    });
    expect(lines(at('OPEN', 4))).toEqual(['* Pending action: REPLACE OPEN, expires in turn 4']);
    expect(lines(at('IN_PROGRESS', -1))).toEqual(['* Pending action: REPLACE IN_PROGRESS']);
    expect(lines(at('EXECUTED', 4))).toEqual(['Pending action: REPLACE EXECUTED']);
  });

  it('lists open questions', () => {
    const session = { pendingClarificationQuestion: 'Which one?', context: { guardrail_pending: { text: 'close it' } } };
    expect(lines(session)).toEqual(['* Question: Which one?', '* Awaiting approval: close it']);
  });
});

describe('the copy of the context', () => {
  it('is omitted while no schema is known', () => {
    const context = { a: 1 };
    expect(withoutContextCopy({ schemaJson: { a: 1 }, context })).toEqual({ context });
    expect(lines({ schemaJson: { a: 1 }, context })).toEqual([]);
    expect(withoutContextCopy({ schemaJson: {}, context })).toEqual({ schemaJson: {}, context });
  });
});

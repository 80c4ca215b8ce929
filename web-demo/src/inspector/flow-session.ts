import { memberText } from '../json-text';
import { readFlowSession } from '../flow/session';
import type { JsonObject, TurnRecord } from '../types';
import type { SessionPair } from './sessions';

/** The flow session before and after a turn. */
export function sessionsAroundTurn(record: Pick<TurnRecord, 'journal' | 'outcome'>): SessionPair {
  const input = memberText(record.journal, 'input') ?? '{}';
  const before = memberText(memberText(input, 'session') ?? '{}', 'flow');
  return { before: before === undefined ? {} : ((JSON.parse(before) as JsonObject | null) ?? {}), after: readFlowSession(record) };
}

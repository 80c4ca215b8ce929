import { readFlowSession } from '../flow/session';
import type { JsonObject, TurnRecord } from '../types';
import type { SessionPair } from './sessions';

/** The flow session before and after a turn. */
export function sessionsAroundTurn(record: Pick<TurnRecord, 'journal' | 'outcome'>): SessionPair {
  const { input } = JSON.parse(record.journal) as { input?: { session?: { flow?: JsonObject | null } } };
  return { before: input?.session?.flow ?? {}, after: readFlowSession(record) };
}

/** Which configuration rows a turn considered, and the verdict on each. */
import type { Candidate, Json, JsonObject, Notice, Explanation } from '../types';

/** The part of a turn that is read here. */
export interface TurnTrace {
  explanations: Explanation[];
  notices: Notice[];
}

/** The verdict of one decision on a row. */
export interface RowVerdict {
  step: string;
  topic: string;
  decision: string;
  verdict: Candidate['verdict'];
  reason: string;
  score: number | undefined;
  facts: JsonObject | undefined;
}

/** Verdicts with which a row counts as used. */
const USED_VERDICTS: Candidate['verdict'][] = ['won', 'matched'];

/** The key of a row in a map. */
export function rowKey(table: string, id: Json): string {
  return `${table} ${String(id)}`;
}

/** The rows that a turn used, from explanations and audit records. */
export function usedRows({ explanations, notices }: Pick<TurnTrace, 'explanations' | 'notices'>): Set<string> {
  const rows = explanations.flatMap((it) => it.rows ?? []).filter((it) => USED_VERDICTS.includes(it.verdict));
  return new Set([...rows.map((it) => rowKey(it.table ?? '', it.id ?? null)), ...notices.flatMap(auditedRows)]);
}

/** Counts the turns that used each row. */
export function countUses(turns: Pick<TurnTrace, 'explanations' | 'notices'>[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const key of turns.flatMap((it) => [...usedRows(it)])) out.set(key, (out.get(key) ?? 0) + 1);
  return out;
}

/** All verdicts of a turn on a row, in order. */
export function rowVerdicts({ explanations, notices }: Pick<TurnTrace, 'explanations' | 'notices'>, table: string, id: string): RowVerdict[] {
  const out = explanations.flatMap((why) =>
    (why.rows ?? [])
      .filter((it) => it.table === table && String(it.id) === id)
      .map(({ verdict, reason = '', score, facts }) => ({ step: why.step, topic: why.topic, decision: why.verdict ?? '', verdict, reason, score, facts })),
  );
  return out.length > 0 || table !== 'ce_rule' ? out : notices.flatMap((it) => auditedRuleVerdict(it, id));
}

/** Why a turn may not have considered a row, as far as the row itself shows. */
export function unusedReason(row: JsonObject, table: string): string {
  if (row['enabled'] === false || row['enabled'] === 0) return 'it is disabled.';
  if (String(row['rule_type']).trim().toUpperCase() === 'EXAMPLE') return 'the example rows of an intent are explained at the first of them, when no pattern has matched.';
  return `either no row of ${table} was used, the row is for another intent or state, or an earlier row won.`;
}

function auditedRows(notice: Notice): string[] {
  if (notice.kind !== 'audit') return [];
  const payload = asObject(notice.payload);
  const id = (key: string) => (payload[key] === undefined || payload[key] === null ? undefined : payload[key]);
  switch (notice.stage.split(' ', 1)[0]) {
    case 'RULE_MATCH':
    case 'RULE_APPLIED':
      return id('ruleId') === undefined ? [] : [rowKey('ce_rule', id('ruleId') ?? null)];
    case 'RESOLVE_RESPONSE':
    case 'RESOLVE_RESPONSE_SELECTED':
      return id('responseId') === undefined ? [] : [rowKey('ce_response', id('responseId') ?? null)];
    case 'INTENT_CLASSIFICATION_MATCHED':
      return Object.keys(asObject(payload['matchedByRule'])).map((it) => rowKey('ce_intent_classifier', it));
    default:
      return [];
  }
}

function auditedRuleVerdict(notice: Notice, id: string): RowVerdict[] {
  if (notice.kind !== 'audit') return [];
  const verdict = { RULE_MATCH: 'matched', RULE_NO_MATCH: 'not_matched' } as const;
  const stage = notice.stage.split(' ', 1)[0] ?? '';
  const payload = asObject(notice.payload);
  if (!(stage in verdict) || String(payload['ruleId']) !== id) return [];
  const reason = payload['reason'] === 'TYPE_CONDITION_NOT_MET' ? 'its condition was not met' : '';
  const decision = typeof payload['rulePhase'] === 'string' ? `Rules in phase ${payload['rulePhase']}` : 'Rules';
  return [{ step: 'RulesStep', topic: 'rules', decision, verdict: verdict[stage as keyof typeof verdict], reason, score: undefined, facts: undefined }];
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

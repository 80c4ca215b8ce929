/** Which rows of the configuration a turn looked at, and what became of each. */
import type { Considered, Json, JsonObject, Notice, Why } from '../types';

/** What is read of a turn. */
export interface Told {
  whys: Why[];
  notices: Notice[];
}

/** What one decision says of a row. */
export interface Said {
  step: string;
  topic: string;
  decision: string;
  verdict: Considered['verdict'];
  reason: string;
  score: number | undefined;
  facts: JsonObject | undefined;
}

/** The verdicts by which a row took part in a turn. */
const TAKES_PART: Considered['verdict'][] = ['won', 'matched'];

/** Names a row in a map. */
export function rowKey(table: string, id: Json): string {
  return `${table} ${String(id)}`;
}

/** The rows that took part in a turn; where the engine gives no reasons, those that the audit names. */
export function touched({ whys, notices }: Pick<Told, 'whys' | 'notices'>): Set<string> {
  const rows = whys.flatMap((it) => it.rows ?? []).filter((it) => TAKES_PART.includes(it.verdict));
  return new Set([...rows.map((it) => rowKey(it.table, it.id)), ...notices.flatMap(audited)]);
}

/** In how many of the turns each row took part. */
export function hits(turns: Pick<Told, 'whys' | 'notices'>[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const key of turns.flatMap((it) => [...touched(it)])) out.set(key, (out.get(key) ?? 0) + 1);
  return out;
}

/** All that a turn says of a row, in order. */
export function saidOf({ whys, notices }: Pick<Told, 'whys' | 'notices'>, table: string, id: string): Said[] {
  const out = whys.flatMap((why) =>
    (why.rows ?? [])
      .filter((it) => it.table === table && String(it.id) === id)
      .map(({ verdict, reason = '', score, facts }) => ({ step: why.step, topic: why.topic, decision: why.verdict ?? '', verdict, reason, score, facts })),
  );
  return out.length > 0 || table !== 'ce_rule' ? out : notices.flatMap((it) => auditedRule(it, id));
}

/** Why a turn may never have looked at a row, as far as the row itself shows it. */
export function unseenBecause(row: JsonObject, table: string): string {
  if (row['enabled'] === false || row['enabled'] === 0) return 'it is not enabled.';
  return `no decision of this turn asked for a row of ${table}, or it is for another intent or state, or an earlier one was enough.`;
}

function audited(notice: Notice): string[] {
  if (notice.kind !== 'audit') return [];
  const payload = objectOf(notice.payload);
  const id = (key: string) => (payload[key] === undefined || payload[key] === null ? undefined : payload[key]);
  switch (notice.stage.split(' ', 1)[0]) {
    case 'RULE_MATCH':
    case 'RULE_APPLIED':
      return id('ruleId') === undefined ? [] : [rowKey('ce_rule', id('ruleId') ?? null)];
    case 'RESOLVE_RESPONSE':
    case 'RESOLVE_RESPONSE_SELECTED':
      return id('responseId') === undefined ? [] : [rowKey('ce_response', id('responseId') ?? null)];
    case 'INTENT_CLASSIFICATION_MATCHED':
      return Object.keys(objectOf(payload['matchedByRule'])).map((it) => rowKey('ce_intent_classifier', it));
    default:
      return [];
  }
}

function auditedRule(notice: Notice, id: string): Said[] {
  if (notice.kind !== 'audit') return [];
  const verdict = { RULE_MATCH: 'matched', RULE_NO_MATCH: 'not_matched' } as const;
  const stage = notice.stage.split(' ', 1)[0] ?? '';
  const payload = objectOf(notice.payload);
  if (!(stage in verdict) || String(payload['ruleId']) !== id) return [];
  const reason = payload['reason'] === 'TYPE_CONDITION_NOT_MET' ? 'its condition was not met' : '';
  const decision = typeof payload['rulePhase'] === 'string' ? `Rules of the phase ${payload['rulePhase']}` : 'Rules';
  return [{ step: 'RulesStep', topic: 'rules', decision, verdict: verdict[stage as keyof typeof verdict], reason, score: undefined, facts: undefined }];
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

import { usedRows } from '../config/row-usage';
import { formatStepName } from '../timeline/step-name';
import { findStep } from './find-step';
import type { AuditNotice, Candidate, Json, JsonObject, Notice, StepInfo, Explanation } from '../types';

/** The decisions of one step. */
export interface StepExplanation {
  key: string;
  step: string;
  entries: DecisionEntry[];
}

/** One decision with its candidates. */
export interface DecisionEntry {
  /** What was decided; empty where it equals the step name. */
  topic: string;
  /** One sentence. */
  verdict: string;
  /** Whether the candidates are gates, which pass or block. */
  gates: boolean;
  about: [path: string, value: string][];
  /** Candidates that won or matched. */
  winners: Candidate[];
  /** Candidates that lost, failed or did not match. */
  nearMisses: Candidate[];
  /** Candidates out of scope or not reached. */
  skipped: Candidate[];
  /** Whether the candidates are intents that are compared by the words of the message; their scores are confidences. */
  isLexical: boolean;
}

/** A part of a message, and what it adds to the score of an intent; `_` is the border of a word. */
export interface TermWeight {
  term: string;
  weight: number;
}

/** The part of a turn that explanations are read from. */
export interface ExplainableTurn {
  steps: StepInfo[];
  explanations: Explanation[];
}

/** The text of each verdict. */
export const VERDICT_TEXTS: Record<Candidate['verdict'], string> = {
  won: 'won',
  matched: 'matched',
  lost: 'lost',
  not_matched: 'did not match',
  failed: 'failed',
  out_of_scope: 'out of scope',
  not_reached: 'not reached',
};

const TOPIC_TITLES: Record<string, string> = {
  policy: 'Policy',
  dialogue_act: 'Dialogue act',
  lexical: 'Words of the message',
  examples: 'Example rows',
  classifier: 'Classifier',
  intent_agent: 'Intent resolver',
  correction: 'Correction',
  pending_action: 'Pending action',
  guardrail: 'Guardrail',
  rules: 'Rules',
  response: 'Response',
  template: 'Template',
  planner: 'Planner',
  tool: 'Tool',
  state_graph: 'State graph',
  intent_match: 'Intent',
  verification: 'Verification',
  route: 'Route',
  slot: 'Slot',
  fallback: 'Fallback',
  agent_step: 'Agent step',
  migration: 'Migration',
};

/** Formats the verdict on a candidate. */
export function verdictText({ verdict }: Candidate, gates: boolean): string {
  if (gates && verdict === 'not_matched') return 'passed';
  if (gates && verdict === 'matched') return 'blocked';
  return VERDICT_TEXTS[verdict];
}

/** Explains a step or a whole turn. */
export function explain(turn: ExplainableTurn, step: number | undefined): StepExplanation[] {
  const out = new Map<number, StepExplanation>();
  for (const explanation of turn.explanations) {
    const index = findStep(turn.steps, explanation);
    if (step !== undefined && index !== step) continue;
    const entry = toEntry(explanation);
    const name = formatStepName(turn.steps[index]?.step ?? '') || 'Outside any step';
    if (entry.topic === name && entry.verdict !== '') entry.topic = '';
    const known = out.get(index);
    if (known) known.entries.push(entry);
    else out.set(index, { key: String(index), step: name, entries: [entry] });
  }
  return [...out.values()];
}

/** Formats facts as pairs of path and value. */
export function toFactPairs(values: JsonObject | undefined): [path: string, value: string][] {
  return Object.entries(values ?? {}).map(([path, value]) => [path, typeof value === 'string' ? value : JSON.stringify(value)]);
}

/** Separates the terms from other facts: those for an intent first, the weightiest of both sides first. */
export function splitTerms({ for: pro, against, ...facts }: JsonObject = {}): { terms: TermWeight[]; facts: JsonObject } {
  const weights = (side: Json | undefined) =>
    Object.entries(asObject(side ?? null))
      .map(([term, weight]) => ({ term, weight: Number(weight) }))
      .toSorted((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  return { terms: [...weights(pro), ...weights(against)], facts };
}

function toEntry({ topic, about, verdict = '', rows = [] }: Explanation): DecisionEntry {
  const withVerdict = (...verdicts: Candidate['verdict'][]) => rows.filter((it) => verdicts.includes(it.verdict));
  const near = withVerdict('lost', 'failed', 'not_matched');
  const isLexical = topic === 'lexical' || topic === 'examples';
  return {
    topic: TOPIC_TITLES[topic] ?? topic,
    verdict: verdict.charAt(0).toUpperCase() + verdict.slice(1),
    gates: topic === 'planner',
    // Null values explain nothing.
    about: toFactPairs(isLexical ? roundNumbers(about) : about).filter(([, value]) => value !== 'null'),
    winners: [...withVerdict('won'), ...withVerdict('matched')],
    // Highest score first.
    nearMisses: near.sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity) || 0),
    skipped: withVerdict('out_of_scope', 'not_reached'),
    isLexical,
  };
}

function roundNumbers(facts: JsonObject = {}): JsonObject {
  return Object.fromEntries(Object.entries(facts).map(([key, it]) => [key, typeof it === 'number' ? Number(it.toFixed(3)) : it]));
}

const ROW_STAGES: [stage: RegExp, table: string, id: string, verdict: Candidate['verdict']][] = [
  [/^RULE_MATCH/, 'ce_rule', 'ruleId', 'matched'],
  [/^RULE_NO_MATCH/, 'ce_rule', 'ruleId', 'not_matched'],
  [/^SET_/, 'ce_rule', 'ruleId', 'won'],
  [/^RESOLVE_RESPONSE$/, 'ce_response', 'responseId', 'won'],
  [/^RESOLVE_RESPONSE_SELECTED/, 'ce_prompt_template', 'templateId', 'won'],
  [/^POLICY_BLOCK/, 'ce_policy', 'policyId', 'matched'],
  [/^SCHEMA_EXTRACTION_START/, 'ce_output_schema', 'schemaId', 'won'],
];

/** A configuration row that a notice names. */
export interface NoticeRow {
  table: string;
  id: string;
  verdict: Candidate['verdict'];
}

/** Finds the configuration row that a notice names, with its verdict. */
export function findNoticeRow(notice: Notice): NoticeRow | undefined {
  if (notice.kind !== 'audit') return undefined;
  const row = parseRow(notice, asObject(notice.payload));
  if (row) return row;
  const [key] = usedRows({ explanations: [], notices: [notice] });
  const at = key?.indexOf(' ') ?? -1;
  return key === undefined || at < 0 ? undefined : { table: key.slice(0, at), id: key.slice(at + 1), verdict: 'matched' };
}

function parseRow({ stage }: AuditNotice, payload: JsonObject): NoticeRow | undefined {
  const found = ROW_STAGES.find(([pattern, , id]) => pattern.test(stage) && payload[id] !== undefined && payload[id] !== null);
  if (!found) return undefined;
  const [, table, id, verdict] = found;
  return { table, id: String(payload[id]), verdict };
}

function asObject(payload: Json): JsonObject {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
}

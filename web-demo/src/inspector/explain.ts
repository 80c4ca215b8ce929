import { touched } from '../config/touched';
import { tone } from '../grouping';
import { stepName } from '../timeline/step-name';
import { decided, telling } from '../timeline/told';
import { stepAt, stepOf } from './step-of';
import type { AuditNotice, Considered, Json, JsonObject, Notice, StepInfo, Why } from '../types';

/** The decisions of one step. */
export interface Explained {
  key: string;
  step: string;
  entries: Entry[];
}

/** One decision with what was considered for it. */
export interface Entry {
  /** What was decided; empty where the step says it. */
  topic: string;
  /** One sentence. */
  verdict: string;
  /** Whether the rows are gates, which let through or do not. */
  gates: boolean;
  about: [path: string, value: string][];
  /** What won or matched. */
  first: Considered[];
  /** What came near. */
  near: Considered[];
  /** What was not looked at closely. */
  aside: Considered[];
}

/** A turn as far as its reasons are read from it. */
export interface Reasoned {
  steps: StepInfo[];
  notices: Notice[];
  whys: Why[];
}

/** The word for each verdict. */
export const VERDICTS: Record<Considered['verdict'], string> = {
  won: 'won',
  matched: 'matched',
  lost: 'lost',
  not_matched: 'did not match',
  failed: 'failed',
  out_of_scope: 'not in scope',
  not_reached: 'not reached',
};

const TOPICS: Record<string, string> = {
  policy: 'Policy',
  dialogue_act: 'Dialogue act',
  classifier: 'Classifier',
  intent_agent: 'Intent by the model',
  correction: 'Correction',
  pending_action: 'Pending action',
  guardrail: 'Guardrail',
  rules: 'Rules',
  response: 'Response',
  template: 'Template',
  planner: 'Planner',
  tool: 'Tool',
  state_graph: 'State graph',
};

/** Says in a word what became of a row. */
export function verdictOf({ verdict }: Considered, gates: boolean): string {
  if (gates && verdict === 'not_matched') return 'lets through';
  if (gates && verdict === 'matched') return 'in the way';
  return VERDICTS[verdict];
}

/** Explains a step, or all of a turn; what the engine gives no reasons for is told by its decisions. */
export function explain(turn: Reasoned, step: number | undefined): Explained[] {
  const out = new Map<number, Explained>();
  const entries = turn.whys.length > 0 ? turn.whys.map((it) => [stepOf(turn.steps, it), entryOf(it)] as const) : told(turn);
  for (const [index, entry] of entries) {
    if (step !== undefined && index !== step) continue;
    const name = stepName(turn.steps[index]?.step ?? '') || 'Around the steps';
    if (entry.topic === name && entry.verdict !== '') entry.topic = '';
    const known = out.get(index);
    if (known) known.entries.push(entry);
    else out.set(index, { key: String(index), step: name, entries: [entry] });
  }
  return [...out.values()];
}

/** Writes facts as pairs of path and value. */
export function facts(of: JsonObject | undefined): [path: string, value: string][] {
  return Object.entries(of ?? {}).map(([path, value]) => [path, typeof value === 'string' ? value : JSON.stringify(value)]);
}

function entryOf({ topic, about, verdict = '', rows = [] }: Why): Entry {
  const of = (...verdicts: Considered['verdict'][]) => rows.filter((it) => verdicts.includes(it.verdict));
  const near = of('lost', 'failed', 'not_matched');
  return {
    topic: TOPICS[topic] ?? topic,
    verdict: verdict.charAt(0).toUpperCase() + verdict.slice(1),
    gates: topic === 'planner',
    // What is null says nothing of why.
    about: facts(about).filter(([, value]) => value !== 'null'),
    first: [...of('won'), ...of('matched')],
    // The nearest loser first.
    near: near.sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity) || 0),
    aside: of('out_of_scope', 'not_reached'),
  };
}

const ROWS: [stage: RegExp, table: string, id: string, verdict: Considered['verdict']][] = [
  [/^RULE_MATCH/, 'ce_rule', 'ruleId', 'matched'],
  [/^RULE_NO_MATCH/, 'ce_rule', 'ruleId', 'not_matched'],
  [/^SET_/, 'ce_rule', 'ruleId', 'won'],
  [/^RESOLVE_RESPONSE$/, 'ce_response', 'responseId', 'won'],
  [/^RESOLVE_RESPONSE_SELECTED/, 'ce_prompt_template', 'templateId', 'won'],
  [/^POLICY_BLOCK/, 'ce_policy', 'policyId', 'matched'],
  [/^SCHEMA_EXTRACTION_START/, 'ce_output_schema', 'schemaId', 'won'],
];
/** Members that say nothing about why. */
const NOISE = /^(ruleId|responseId|policyId|templateId|context|contextJson|session.*|inputParams|ruleExecution.*|rule(Agent|Tool).*|userText|text|output|json|rendered_template|promptVars|.*prompt.*|reason)$/i;

function told({ steps, notices }: Reasoned): [number, Entry][] {
  const out: [number, Entry][] = [];
  for (const notice of notices) {
    if (notice.kind !== 'audit' || !reasons(notice)) continue;
    const payload = members(notice.payload);
    const { name, detail } = decided(notice);
    const row = rowOf(notice, payload);
    const about = facts(payload).filter(([key, value]) => !NOISE.test(key) && value !== 'null' && value !== '' && value.length <= 80);
    const entry: Entry = { topic: name, verdict: detail, gates: false, about: row ? [] : about, first: [], near: [], aside: [] };
    if (row) (row.verdict === 'not_matched' ? entry.near : entry.first).push({ ...row, facts: Object.fromEntries(about) });
    out.push([stepAt(steps, notice.seq), entry]);
  }
  return out;
}

function reasons(notice: AuditNotice): boolean {
  if (/_LLM_INPUT|_LLM_OUTPUT|PROMPT_RENDERING|^STEP_|^ASSISTANT_OUTPUT|^MEMORY/.test(notice.stage)) return false;
  return telling(notice) || tone(notice.stage) === 'idle' || /DECIDED|RESOLVED|SELECTED|STATUS|ALLOW/.test(notice.stage);
}

/** Finds the row of the configuration that something said names, and whether it was decisive. */
export function rowNamed(notice: Notice): Pick<Considered, 'table' | 'id' | 'verdict'> | undefined {
  if (notice.kind !== 'audit') return undefined;
  const row = rowOf(notice, members(notice.payload));
  if (row) return row;
  const [key] = touched({ whys: [], notices: [notice] });
  const at = key?.indexOf(' ') ?? -1;
  return key === undefined || at < 0 ? undefined : { table: key.slice(0, at), id: key.slice(at + 1), verdict: 'matched' };
}

function rowOf({ stage }: AuditNotice, payload: JsonObject): Considered | undefined {
  const found = ROWS.find(([pattern, , id]) => pattern.test(stage) && payload[id] !== undefined && payload[id] !== null);
  if (!found) return undefined;
  const [, table, id, verdict] = found;
  const reason = payload['reason'];
  return { table, id: payload[id] ?? null, verdict, ...(typeof reason === 'string' ? { reason } : {}) };
}

function members(payload: Json): JsonObject {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
}

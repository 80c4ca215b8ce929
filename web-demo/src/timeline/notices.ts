import { payloadSummary, plainStage, stageTone } from '../stage-tone';
import type { AuditNotice, Json, JsonObject } from '../types';
import { FLOW_NOTICES, isFlowStage, isFlowStoryStage } from './flow-notices';

/** Title and detail of a notice. */
export interface NoticeText {
  name: string;
  detail: string;
}

type DescribeDetail = (it: (key: string) => string, payload: JsonObject) => string;

/** Titles and details of common stages; other stages show their name and first values. */
const STAGE_TEXTS: Record<string, [name: string, detail: DescribeDetail]> = {
  USER_INPUT: ['User input', (it) => it('text')],
  POLICY_BLOCK: ['Blocked by policy', (it) => `policy ${it('policyId')}`],
  DIALOGUE_ACT_CLASSIFIED: ['Dialogue act', (it) => `${it('dialogueAct')}, by ${it('dialogueActSource').toLowerCase()} ${it('dialogueActConfidence')}`],
  INTERACTION_POLICY_DECIDED: ['Interaction policy', (it) => it('policyDecision')],
  INTENT_CLASSIFICATION_MATCHED: ['Classifier matched', (it, payload) => `${it('intent')}${matchedIds(payload['matchedByRule'])}`],
  INTENT_RESOLVED_BY_CLASSIFIER: ['Intent from classifier', (it) => it('resolvedIntent')],
  INTENT_RESOLVED_BY_AGENT: ['Intent from intent resolver', (it) => it('resolvedIntent')],
  INTENT_AGENT_ACCEPTED: ['Intent accepted', (it) => `${it('intent')} ${it('confidence')}`],
  INTENT_AGENT_REJECTED: ['Intent rejected', (it) => it('reason')],
  RULE_MATCH: ['Rule matched', (it) => `rule ${it('ruleId')}: ${it('action')}`],
  RULE_APPLIED: ['Rule applied', (it) => `rule ${it('ruleId')}: ${it('action')}`],
  RULE_NO_MATCH: ['Rule did not match', (it) => (it('ruleId') ? `rule ${it('ruleId')}: ${it('reason')}` : 'no rule in scope')],
  SET_STATE: ['State set', (it) => `${it('fromState')} → ${it('toState')}, by rule ${it('ruleId')}`],
  SET_INTENT: ['Intent set', (it) => `${it('fromIntent')} → ${it('toIntent')}, by rule ${it('ruleId')}`],
  SET_JSON: ['Value set', (it) => `${it('key')} = ${it('value')}, by rule ${it('ruleId')}`],
  SET_DIALOGUE_ACT: ['Dialogue act set', (it) => `${it('dialogueAct')}, by rule ${it('ruleId')}`],
  SET_INPUT_PARAM: ['Input params set', (it) => `by rule ${it('ruleId')}`],
  RESOLVE_RESPONSE: ['Response chosen', (it) => `response ${it('responseId')}`],
  RESOLVE_RESPONSE_SELECTED: ['Template chosen', (it) => `template ${it('templateId')}`],
  ASSISTANT_OUTPUT: ['Assistant reply', (it) => it('output')],
  SCHEMA_STATUS: ['Values', (it, payload) => (it('schemaComplete') === 'true' ? 'complete' : `missing ${formatList(payload['missingRequiredFields'])}`)],
  CORRECTION_STEP_CORRECTION_PATCH_APPLIED: ['Value corrected', (it) => `${it('field')} = ${it('value')}`],
  CORRECTION_STEP_CONFIRM_ACCEPT: ['Confirmed', (it) => it('routingDecision')],
  PENDING_ACTION_LIFECYCLE: ['Pending action', (it) => `${it('actionRef') || it('actionKey')} ${it('event')}`],
  PENDING_ACTION_EXECUTED: ['Pending action executed', (it) => it('pendingActionRef')],
  PENDING_ACTION_REJECTED: ['Pending action rejected', (it) => it('pendingActionRef')],
  STATE_GRAPH_VALID: ['State transition allowed', (it) => `${it('fromState')} → ${it('toState')}`],
  STATE_GRAPH_VIOLATION: ['State transition not allowed', (it) => `${it('fromState')} → ${it('toState')}`],
  GUARDRAIL_ALLOW: ['Guardrail passed', () => ''],
  GUARDRAIL_DENY: ['Guardrail blocked', (it) => it('reason')],
  MCP_TOOL_CALL: ['Tool called', (it) => it('tool_code')],
  MCP_TOOL_RESULT: ['Tool answered', (it) => it('rows')],
  MCP_TOOL_ERROR: ['Tool failed', (it) => `${it('tool_code')}: ${it('error') || it('message')}`],
  MCP_TOOL_APPROVAL: ['Tool call waits for approval', (it) => it('tool_code')],
  MCP_FINAL_ANSWER: ['Planner finished', (it) => it('answer')],
  LLM_REASONING: ['Model thought', (it) => it('reasoning')],
};

/** Stages already covered by the row of an effect, the reply or the state change. */
const COVERED_STAGES = /_LLM_INPUT|_LLM_OUTPUT|^MCP_TOOL_(CALL|RESULT)|^ASSISTANT_OUTPUT|^RULE_APPLIED|^SET_(STATE|INTENT)|^TOOL_ORCHESTRATION_RE|^INTENT_(CLASSIFICATION_MATCHED|AGENT_ACCEPTED)|^STATE_GRAPH_VALID|^MEMORY|^RESOLVE_RESPONSE_SELECTED/;
/** Stages shown in a story although their tone does not say so. */
const STORY_STAGES = /^(DIALOGUE_ACT_CLASSIFIED|RESOLVE_RESPONSE|SET_JSON|SET_DIALOGUE_ACT|PENDING_ACTION_(LIFECYCLE|EXECUTED)|MCP_(FINAL_ANSWER|TOOL_APPROVAL)|CONVERSATION_RESET|CORRECTION_STEP|GUARDRAIL_DENY)/;

/** Describes a notice. */
export function describeNotice({ stage, payload }: AuditNotice): NoticeText {
  const stageText = STAGE_TEXTS[baseStage(stage)] ?? FLOW_NOTICES[plainStage(stage)];
  const members = typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
  if (!stageText) return { name: stageWords(baseStage(stage)), detail: payloadSummary(payload) };
  const [name, detail] = stageText;
  return { name, detail: detail((key) => formatPlain(members[key]), members) };
}

/** Whether a notice is shown in a story, which has only what moved the turn. */
export function isInStory({ stage, payload }: AuditNotice): boolean {
  // How a step went follows.
  if (stage === 'chain.step') return (payload as JsonObject)['status'] !== 'running';
  if (isFlowStage(stage)) return isFlowStoryStage(stage);
  if (COVERED_STAGES.test(stage)) return false;
  return STORY_STAGES.test(stage) || ['success', 'warning', 'error'].includes(stageTone(stage));
}

/** The stage without the phase of a rule. */
function baseStage(stage: string): string {
  return stage.replace(/ \(.*$/, '');
}

function stageWords(stage: string): string {
  const text = stage.toLowerCase().replaceAll(/[_.]/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\b(llm|mcp|sql|db)\b/g, (it) => it.toUpperCase());
}

function formatPlain(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function matchedIds(matched: Json | undefined): string {
  const found = typeof matched === 'object' && matched !== null ? Object.keys(matched) : [];
  return found.length > 0 ? `, by ${found.join(', ')}` : '';
}

function formatList(value: Json | undefined): string {
  return Array.isArray(value) ? value.join(', ') : '';
}

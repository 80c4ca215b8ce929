import { formatWait } from '../chain/timer';
import { plainStage } from '../stage-tone';
import { plural } from '../plural';
import type { Json, JsonObject } from '../types';

type DescribeDetail = (it: (key: string) => string, payload: JsonObject) => string;

const formatConfidence = (confidence: string) => (confidence === '' ? '' : String(Number(Number(confidence).toFixed(2))));

/** Titles and details of flow notices; those of workflow graphs are listed without their prefix. */
export const FLOW_NOTICES: Record<string, [name: string, detail: DescribeDetail]> = {
  event: ['Event', (it) => it('event')],
  'intent.match': ['Intent', (it) => [it('intent_id') || 'none', it('source') && `by ${it('source').replaceAll('_', ' ')}`, formatConfidence(it('confidence'))].filter(Boolean).join(' ')],
  'intent.lexical': ['Compared by words', (it, payload) => [it('decision'), nearestIntent(payload['nearest'])].filter(Boolean).join(': ')],
  'intent.rejected': ['Intent rejected', (it) => it('intent_id')],
  'intent.unsure': ['Intent confidence too low', (it) => it('intent_id')],
  'node.error': ['Node failed', (it) => `${it('name') || it('node')}: ${it('code')}${it('message') ? `, ${it('message')}` : ''}`],
  'node.enter': ['Node', (it) => `${it('name')}, ${it('type')}`],
  edge: ['Edge', (it) => `${it('node')} → ${it('target')}`],
  route: ['Route', (it) => `${it('node')}: ${it('label') || it('edge')}`],
  resume: ['Resumed', (it) => it('node')],
  'graph.end': ['Graph ended', (it) => `${it('graph')}${it('exit') && it('exit') !== 'out' ? `, exit ${it('exit')}` : ''}`],
  subflow: ['Subflow called', (it) => it('target') || it('callee') || it('graph')],
  await: ['Awaiting input', (it) => it('kind') || 'an answer'],
  button: ['Button', (it) => it('button')],
  'entity.prompt': ['Value requested', (it) => it('variable')],
  'entity.filled': ['Value filled', (it) => it('variable')],
  'entity.prefilled': ['Value prefilled from the message', (it) => it('variable')],
  'entity.skipped': ['Value already known', (it) => it('variable')],
  repair: ['Repair of the conversation', (it) => [it('pattern'), it('variable')].filter(Boolean).join(': ')],
  'entity.invalid': ['Invalid value', (it) => it('variable') || it('node')],
  'entity.ambiguous': ['Ambiguous value', (it) => it('variable') || it('node')],
  'service.answer': ['Service answered', (it) => `attempt ${it('attempt')}: ${it('code')}${it('status') ? ` ${it('status')}` : ''}`],
  'knowledge.search': ['Knowledge searched', (it, payload) => `${plural(listLength(payload['hits']), 'passage')} for “${it('query')}”`],
  'knowledge.ungrounded': ['Answer rejected: no passage supports it', () => ''],
  'knowledge.failed': ['Knowledge search failed', (it) => it('code').replaceAll('_', ' ')],
  'script.run': ['Script', (it, payload) => describeScript(it, payload)],
  'handoff.requested': ['Handed off to the desk', (it) => [it('state'), it('queue') && `queue ${it('queue')}`, it('ticket') && `ticket ${it('ticket')}`].filter(Boolean).join(', ')],
  'handoff.accepted': ['Desk accepted', (it) => it('author')],
  'handoff.completed': ['Desk finished', (it) => it('disposition')],
  'handoff.late': ['Desk event ignored: nothing is handed off', () => ''],
  'handoff.taken': ['Desk event ignored: another person has the conversation', (it) => it('author')],
  'handoff.relay_failed': ['Message not delivered to the desk', (it) => it('code').replaceAll('_', ' ')],
  'handoff.variable_ignored': ['Returned variable ignored', (it) => it('variable')],
  'llm.reasoning': ['Model thought', (it) => it('text')],
  no_input: ['No input', (it) => it('count')],
  gives_up: ['Gave up', (it) => it('reason').replaceAll('_', ' ')],
  'session.completed': ['Session completed', () => ''],
  'session.abandoned': ['Session abandoned', () => ''],
  'session.closed': ['Session closed', (it) => it('status')],
  'subworkflow.enter': ['Workflow entered', (it) => it('workflow')],
  'agent.hop': ['Conversation passed on', (it) => `${it('node')} → ${it('agent')}`],
  'tool.executed': ['Tool called', (it) => [it('tool'), it('code')].filter(Boolean).join(': ')],
  'node.route': ['Route', (it) => `${it('node')} → ${it('target')}`],
  end: ['Workflow ended', (it) => it('node')],
  'workflow_chain.run': ['Run begins', (it) => (it('attempt') ? `for the ${it('attempt')}. time` : it('trigger'))],
  'workflow_chain.resume': ['Resumed', (it) => [it('path'), it('by') && `by ${it('by')}`].filter(Boolean).join(' ')],
  'workflow_chain.ingress': ['Webhook received', (it) => it('path')],
  'chain.step': ['Step', (it) => `${it('path')} ${it('status')}${Number(it('attempt')) > 1 ? `, attempt ${it('attempt')}` : ''}`],
  'chain.retry': ['Retry', (it) => `${it('path')} after ${formatWait(Number(it('delay_ms')))}`],
  'chain.end': ['Run ended', (it) => [it('status'), it('reason')].filter(Boolean).join(': ')],
  'decide.match': ['Branch chosen', (it) => it('branch')],
  'decide.no_match': ['No branch fits', (it) => it('path')],
  'notify.failed': ['Not delivered', (it) => [it('to'), it('code')].filter(Boolean).join(': ')],
  'notify.log': ['Notified', (it) => it('text')],
  'template.undefined': ['Undefined template value', (it) => it('path') || it('template')],
};

function listLength(value: Json | undefined): number {
  return Array.isArray(value) ? value.length : 0;
}

function nearestIntent(nearest: Json | undefined): string {
  const first = Array.isArray(nearest) ? nearest[0] : undefined;
  if (typeof first !== 'object' || first === null || Array.isArray(first)) return '';
  return `${String(first['intent'])} ${formatConfidence(String(first['confidence']))}`;
}

/** The failure of a script, or what it decided and printed. */
function describeScript(it: (key: string) => string, { failure, logs }: JsonObject): string {
  if (typeof failure === 'object' && failure !== null && !Array.isArray(failure)) return [failure['code'], failure['message']].filter((it) => typeof it === 'string').join(': ');
  const lines = listLength(logs);
  return [it('branch') && `branch ${it('branch')}`, it('result') && `result ${it('result')}`, lines > 0 && plural(lines, 'log line')].filter(Boolean).join(', ') || 'done';
}

/** Flow stages shown in a story: progress and errors. */
const STORY_STAGES = /^(intent\.|node\.error|route|resume|subflow|button|entity\.|no_input|gives_up|session\.|knowledge\.|handoff\.|template\.|expr\.|subworkflow\.|agent\.hop|tool\.executed|workflow_chain\.|chain\.|decide\.|notify\.|guard\.|exit\.|timer\.|approval\.)/;

/** Whether a stage belongs to a flow; pipeline stages are in capitals. */
export function isFlowStage(stage: string): boolean {
  return /^[a-z]/.test(stage);
}

/** Whether a flow stage is shown in a story. */
export function isFlowStoryStage(stage: string): boolean {
  // The rows of their effects show searches and scripts.
  return STORY_STAGES.test(plainStage(stage)) && !/^(entity\.(prompt|skipped)|knowledge\.search$)/.test(stage);
}

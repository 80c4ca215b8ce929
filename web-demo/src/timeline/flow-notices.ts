import type { JsonObject } from '../types';

type DescribeDetail = (it: (key: string) => string, payload: JsonObject) => string;

const formatConfidence = (confidence: string) => (confidence === '' ? '' : String(Number(Number(confidence).toFixed(2))));

/** Titles and details of flow notices. */
export const FLOW_NOTICES: Record<string, [name: string, detail: DescribeDetail]> = {
  event: ['Event', (it) => it('event')],
  'intent.match': ['Intent', (it) => [it('intent_id') || 'none', it('source') && `by ${it('source').replaceAll('_', ' ')}`, formatConfidence(it('confidence'))].filter(Boolean).join(' ')],
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
  'entity.invalid': ['Invalid value', (it) => it('variable') || it('node')],
  'entity.ambiguous': ['Ambiguous value', (it) => it('variable') || it('node')],
  'service.answer': ['Service answered', (it) => `attempt ${it('attempt')}: ${it('code')}${it('status') ? ` ${it('status')}` : ''}`],
  no_input: ['No input', (it) => it('count')],
  gives_up: ['Gave up', (it) => it('reason').replaceAll('_', ' ')],
  'session.completed': ['Session completed', () => ''],
  'session.abandoned': ['Session abandoned', () => ''],
  'session.closed': ['Session closed', (it) => it('status')],
  'template.undefined': ['Undefined template value', (it) => it('path') || it('template')],
};

/** Flow stages shown in a story: progress and errors. */
const STORY_STAGES = /^(intent\.|node\.error|route|resume|subflow|button|entity\.|no_input|gives_up|session\.|template\.|expr\.|guard\.|exit\.|timer\.|approval\.)/;

/** Whether a stage belongs to a flow; pipeline stages are in capitals. */
export function isFlowStage(stage: string): boolean {
  return /^[a-z]/.test(stage);
}

/** Whether a flow stage is shown in a story. */
export function isFlowStoryStage(stage: string): boolean {
  return STORY_STAGES.test(stage) && !/^entity\.(prompt|skipped)/.test(stage);
}

import type { JsonObject } from '../types';

type DescribeDetail = (it: (key: string) => string, payload: JsonObject) => string;

const formatConfidence = (confidence: string) => (confidence === '' ? '' : String(Number(Number(confidence).toFixed(2))));

/** How what happens in a walk is told. */
export const FLOW_NOTICES: Record<string, [name: string, detail: DescribeDetail]> = {
  event: ['Event', (it) => it('event')],
  'intent.match': ['Intent', (it) => [it('intent_id') || 'none', it('source') && `by ${it('source').replaceAll('_', ' ')}`, formatConfidence(it('confidence'))].filter(Boolean).join(' ')],
  'intent.rejected': ['Intent refused', (it) => it('intent_id')],
  'intent.unsure': ['Intent not sure enough', (it) => it('intent_id')],
  'node.error': ['Node failed', (it) => `${it('name') || it('node')}: ${it('code')}${it('message') ? `, ${it('message')}` : ''}`],
  'node.enter': ['Node', (it) => `${it('name')}, ${it('type')}`],
  edge: ['Edge', (it) => `${it('node')} → ${it('target')}`],
  route: ['Route', (it) => `${it('node')}: ${it('label') || it('edge')}`],
  resume: ['Goes on', (it) => it('node')],
  'graph.end': ['Graph ended', (it) => `${it('graph')}${it('exit') && it('exit') !== 'out' ? `, by ${it('exit')}` : ''}`],
  subflow: ['Subflow called', (it) => it('target') || it('callee') || it('graph')],
  await: ['Waits', (it) => `for ${it('kind') || 'an answer'}`],
  button: ['Button', (it) => it('button')],
  'entity.prompt': ['Asked for', (it) => it('variable')],
  'entity.filled': ['Value taken', (it) => it('variable')],
  'entity.prefilled': ['Value taken from the first message', (it) => it('variable')],
  'entity.skipped': ['Value already there', (it) => it('variable')],
  'entity.invalid': ['Value not understood', (it) => it('variable') || it('node')],
  'entity.ambiguous': ['More than one value', (it) => it('variable') || it('node')],
  'service.answer': ['Service answered', (it) => `attempt ${it('attempt')}: ${it('code')}${it('status') ? ` ${it('status')}` : ''}`],
  no_input: ['Nobody answered', (it) => it('count')],
  gives_up: ['Gives up', (it) => it('reason').replaceAll('_', ' ')],
  'session.completed': ['Session completed', () => ''],
  'session.abandoned': ['Session abandoned', () => ''],
  'session.closed': ['The session is over', (it) => it('status')],
  'template.undefined': ['A template has nothing to show', (it) => it('path') || it('template')],
};

/** What of a walk belongs to a story: what moved the turn, and what went wrong. */
const STORY_STAGES = /^(intent\.|node\.error|route|resume|subflow|button|entity\.|no_input|gives_up|session\.|template\.|expr\.|guard\.|exit\.|timer\.|approval\.)/;

/** Tells whether a stage is one of a walk: those of the pipeline are in capitals. */
export function isFlowStage(stage: string): boolean {
  return /^[a-z]/.test(stage);
}

/** Tells whether it belongs to a story. */
export function isFlowStoryStage(stage: string): boolean {
  return STORY_STAGES.test(stage) && !/^entity\.(prompt|skipped)/.test(stage);
}

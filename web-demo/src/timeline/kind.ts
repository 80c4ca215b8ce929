import type { Origin } from '../session/turn-data';
import { isHandoff } from '../exchange';
import type { JsonObject } from '../types';

/** The kind of a timeline row. */
export type RowKind = 'turn' | 'step' | 'model' | 'tool' | 'task' | 'service' | 'knowledge' | 'code' | 'handoff' | 'wait' | 'decision' | 'progress' | 'error' | 'change' | 'reply';

/** The kinds offered as filters, in order. */
export const FILTERS = ['model', 'tool', 'task', 'service', 'knowledge', 'code', 'handoff', 'wait', 'decision', 'progress', 'error'] as const;

/** A kind offered as a filter. */
export type KindFilter = (typeof FILTERS)[number];

/** The label of each kind. */
export const KIND_LABELS: Record<RowKind, string> = {
  turn: 'Turn',
  step: 'Step',
  model: 'Model',
  tool: 'Tool',
  task: 'Task',
  service: 'Service',
  knowledge: 'Knowledge',
  code: 'Script',
  handoff: 'Handoff',
  wait: 'Wait',
  decision: 'Decision',
  progress: 'Message',
  error: 'Error',
  change: 'State',
  reply: 'Reply',
};

/** The label of each origin. */
export const ORIGIN_LABELS: Record<Origin, string> = {
  script: 'script',
  auto: 'stub',
  manual: 'manual',
  live: 'live',
  reused: 'reused',
  stale: 'stale',
  fault: 'fault',
  edited: 'edited',
  recorded: 'recorded',
};

const EFFECT_KINDS: Record<string, RowKind> = { llm: 'model', embed: 'model', tool: 'tool', task: 'task', extension: 'task', sleep: 'wait', knowledge: 'knowledge', phrase_search: 'model', script: 'code', handoff: 'handoff' };

/** The row kind of an effect. */
export function effectKind(effect: { request: JsonObject & { kind: string } }): RowKind {
  if (isHandoff(effect)) return 'handoff';
  return EFFECT_KINDS[effect.request.kind] ?? 'service';
}

import type { Origin } from '../session/turn-data';
import type { Effect } from '../types';

/** What a row of the timeline is about. */
export type RowKind = 'turn' | 'step' | 'model' | 'tool' | 'task' | 'service' | 'wait' | 'decision' | 'progress' | 'error' | 'change' | 'reply';

/** The kinds that people filter by, in the order of their chips. */
export const FILTERS = ['model', 'tool', 'task', 'service', 'wait', 'decision', 'progress', 'error'] as const;

/** One of them. */
export type KindFilter = (typeof FILTERS)[number];

/** The word for each kind. */
export const KIND_LABELS: Record<RowKind, string> = {
  turn: 'Turn',
  step: 'Step',
  model: 'Model',
  tool: 'Tool',
  task: 'Task',
  service: 'Service',
  wait: 'Wait',
  decision: 'Decision',
  progress: 'Message',
  error: 'Error',
  change: 'State',
  reply: 'Reply',
};

/** The word for where an answer came from. */
export const ORIGIN_LABELS: Record<Origin, string> = {
  script: 'script',
  auto: 'stub',
  manual: 'by hand',
  live: 'live',
  reused: 'reused',
  stale: 'stale',
  fault: 'fault',
  edited: 'edited',
  recorded: 'recorded',
};

const EFFECT_KINDS: Record<string, RowKind> = { llm: 'model', embed: 'model', tool: 'tool', task: 'task', extension: 'task', sleep: 'wait' };

/** Tells what kind of a row an effect is. */
export function effectKind(effect: { request: Pick<Effect['request'], 'kind'> }): RowKind {
  return EFFECT_KINDS[effect.request.kind] ?? 'service';
}

import type { Json } from './types';

/** Summarises the first scalar values of a payload in one line. */
export function payloadSummary(payload: Json): string {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return formatPlain(payload);
  const values = Object.entries(payload).filter(([, value]) => isPlain(value));
  return values
    .slice(0, 3)
    .map(([key, value]) => `${key} ${formatPlain(value)}`)
    .join(' · ');
}

/** Returns the kind of a trace event without the prefix that those of workflow graphs have. */
export function plainStage(stage: string): string {
  return stage.replace(/^workflow\./, '');
}

/** How prominently a stage is shown. */
export type Tone = 'error' | 'warning' | 'success' | 'normal' | 'idle';

/** Derives the tone of a stage from its name. */
export function stageTone(stage: string): Tone {
  if (/^[a-z]/.test(stage)) return flowStageTone(stage);
  if (/ERROR|FAIL/.test(stage)) return 'error';
  if (/BLOCK|DENY|REJECT|EXPIRED|COLLISION|CLARIFICATION|IGNORED/.test(stage)) return 'warning';
  if (/NO_MATCH|SKIP|NO_TOOLS|NO_CHANGE|NOT_|PROMPT_RENDERING/.test(stage)) return 'idle';
  return /MATCH|RESOLVED|APPLIED|ACCEPT|EXECUTED|TOOL_RESULT|ASSISTANT_OUTPUT/.test(stage) ? 'success' : 'normal';
}

/** Derives the tone of a flow stage. */
function flowStageTone(stage: string): Tone {
  if (/^(node\.error|gives_up|llm\.(failed|invalid)|guard\.)/.test(stage)) return 'error';
  if (/(invalid|rejected|unsure|ambiguous|undefined|expr\.error|no_input|late|taken|relay_failed|ungrounded|ignored|knowledge\.failed|abandoned|unwired|chain\.retry|no_match|notify\.failed)/.test(stage)) return 'warning';
  return /^(intent\.match|route|button|entity\.(filled|prefilled)|decide\.match|workflow_chain\.(resume|ingress))/.test(stage) ? 'success' : 'normal';
}

function isPlain(value: Json): boolean {
  return value !== '' && (typeof value === 'string' || typeof value === 'number' || value === true);
}

function formatPlain(value: Json): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

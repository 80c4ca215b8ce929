import type { Json, JsonObject, Notice, View } from './types';

/** The notices of one step, or of a stretch of the turn outside every step. */
export interface Group {
  step: string | null;
  outcome: string | null;
  durationMs: number | null;
  failed: boolean;
  notices: Notice[];
}

/** Groups the notices of a turn by the steps that said them, in the order the steps began. */
export function groups(notices: Notice[]): Group[] {
  const out: Group[] = [];
  const open: Group[] = [];
  for (const notice of notices) {
    const stage = notice.kind === 'audit' ? notice.stage : '';
    if (stage === 'STEP_ENTER') begin(out, open, notice);
    else if (stage === 'STEP_EXIT') end(open, notice);
    else {
      const current = open.at(-1) ?? outside(out, notice);
      current.notices.push(notice);
      if (stage === 'STEP_ERROR') end(open, notice);
    }
  }
  return out;
}

/** The session around one step; `after` is missing when the step did not finish. */
export interface StepViews {
  step: string;
  seq: number;
  before: JsonObject;
  after: JsonObject | null;
}

/** Pairs the views before and after each step. */
export function stepViews(views: View[]): StepViews[] {
  const out: StepViews[] = [];
  for (const view of views) {
    if (view.edge === 'before') out.push({ step: view.step, seq: view.seq, before: view.session, after: null });
    else {
      const open = out.findLast((it) => it.step === view.step && it.after === null);
      if (open) open.after = view.session;
    }
  }
  return out;
}

/** Says the first few plain values of a payload in one line. */
export function gist(payload: Json): string {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return plain(payload);
  const values = Object.entries(payload).filter(([, value]) => isPlain(value));
  return values
    .slice(0, 3)
    .map(([key, value]) => `${key} ${plain(value)}`)
    .join(' · ');
}

/** How a stage should catch the eye. */
export type Tone = 'bad' | 'held' | 'hit' | 'calm' | 'idle';

/** Tells from its name how a stage should catch the eye. */
export function tone(stage: string): Tone {
  if (/ERROR|FAIL/.test(stage)) return 'bad';
  if (/BLOCK|DENY|REJECT|EXPIRED|COLLISION|CLARIFICATION|IGNORED/.test(stage)) return 'held';
  if (/NO_MATCH|SKIP|NO_TOOLS|NO_CHANGE|NOT_|PROMPT_RENDERING/.test(stage)) return 'idle';
  return /MATCH|RESOLVED|APPLIED|ACCEPT|EXECUTED|TOOL_RESULT|ASSISTANT_OUTPUT/.test(stage) ? 'hit' : 'calm';
}

/** Tells whether a step only said that there was nothing to do. */
export function idle({ notices, failed }: Group): boolean {
  return !failed && notices.every((it) => it.kind === 'audit' && tone(it.stage) === 'idle');
}

function begin(out: Group[], open: Group[], notice: Notice): void {
  const group: Group = { step: field(notice, 'step'), outcome: null, durationMs: null, failed: false, notices: [] };
  out.push(group);
  open.push(group);
}

/** Closes the step of that name, or else the innermost one, as the server's trace does. */
function end(open: Group[], notice: Notice): void {
  const named = open.findLastIndex((it) => it.step === field(notice, 'step'));
  const group = open.splice(named < 0 ? -1 : named)[0];
  if (!group) return;
  const failed = notice.kind === 'audit' && notice.stage === 'STEP_ERROR';
  const duration = payloadOf(notice)['durationMs'];
  group.outcome = failed ? 'Error' : field(notice, 'outcome');
  group.durationMs = typeof duration === 'number' ? duration : null;
  group.failed = failed;
}

function outside(out: Group[], notice: Notice): Group {
  const step = notice.kind === 'verbose' ? notice.step : null;
  const last = out.at(-1);
  if (last && last.step === null && step === null) return last;
  const group: Group = { step, outcome: null, durationMs: null, failed: false, notices: [] };
  out.push(group);
  return group;
}

function field(notice: Notice, key: string): string | null {
  const value = payloadOf(notice)[key];
  return typeof value === 'string' ? value : null;
}

function payloadOf(notice: Notice): JsonObject {
  const payload = notice.kind === 'audit' ? notice.payload : null;
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload : {};
}

function isPlain(value: Json): boolean {
  return value !== '' && (typeof value === 'string' || typeof value === 'number' || value === true);
}

function plain(value: Json): string {
  if (value === null) return '';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

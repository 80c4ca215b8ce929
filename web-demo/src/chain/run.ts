/** Types of runs, and how they are read from turns. */
import type { Message } from '../flow/session';
import type { Json, JsonObject, Outcome } from '../types';

/** The status of a run. */
export type RunStatus = 'queued' | 'running' | 'awaiting_human' | 'awaiting_event' | 'sleeping' | 'succeeded' | 'failed' | 'cancelled';

/** The status of an attempt of a step. */
export type StepStatus = 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped' | 'cancelled';

/** A failure. */
export interface RunError {
  code: string;
  message: string;
  path?: string;
}

/** An attempt of a step. */
export interface StepRun {
  /** The ids of the steps and branches that lead to it, and its own, separated by slashes. */
  path: string;
  step_id: string;
  kind: string;
  status: StepStatus;
  attempt: number;
  input?: Json;
  output?: Json;
  error?: RunError;
  started_at: string;
  ended_at?: string;
}

/** A field of a form. */
export interface FormField {
  name: string;
  type?: string;
  required?: boolean;
  default?: Json;
}

/** What a run waits for. */
export interface Wait {
  kind: 'human' | 'webhook' | 'message' | 'time' | 'retry';
  path: string;
  step_id: string;
  attempt: number;
  due?: string;
  prompt?: string;
  assignees?: string[];
  options?: string[];
  form?: FormField[];
}

/** A run, as it is shown. */
export interface Run {
  id: string;
  chain: string;
  status: RunStatus;
  trigger: JsonObject;
  context: JsonObject;
  /** The path of the current step; after a failure, of the failed one. */
  cursor?: string;
  branch_taken?: string;
  primary_trace: StepRun[];
  branch_trace: StepRun[];
  wait?: Wait;
  wake_at?: string;
  attempt: number;
  started_at?: string;
  ended_at?: string;
  duration_ms?: number;
  error?: RunError;
  usage: { llm_calls: number; tool_calls: number; input_tokens: number; output_tokens: number };
}

/** The answer of a turn of a run. */
export interface RunAnswer {
  run_id: string;
  status: RunStatus;
  run?: Run;
  /** Why the event was refused; the run is unchanged then. */
  error?: RunError & { options?: string[]; form?: FormField[] };
  /** The messages of assistants and AI agents. */
  messages: Message[];
}

/** The answer of a run; `undefined` for other turns. */
export function runAnswer(outcome: Outcome | undefined): RunAnswer | undefined {
  const answer = outcome?.flow;
  return answer && 'run_id' in answer ? answer : undefined;
}

/** The run after a turn. */
export function readRun(outcome: Outcome | undefined): Run | undefined {
  return runAnswer(outcome)?.run;
}

/** Whether nothing more happens, unless a failed run is retried. */
export function isFinal(status: RunStatus): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'cancelled';
}

/** All attempts of a run, those of branches after the primary ones. */
export function listAttempts(run: Run | undefined): StepRun[] {
  return run ? [...run.primary_trace, ...run.branch_trace] : [];
}

/** The status of a run in words. */
export function statusText(status: string): string {
  return status.replaceAll('_', ' ');
}

import type { TimelineTurn } from '../../src/timeline/items';
import type { AnsweredEffect, Origin } from '../../src/session/turn-data';
import type { Effect, Json, JsonObject, Notice, Outcome, StepInfo, TurnRecord } from '../../src/types';

const BEGIN = 1_000;

/** Writes the notices of a turn: a stage, or a step with what is said in it. */
export class Script {
  readonly notices: Notice[] = [];
  readonly answered: AnsweredEffect[] = [];
  readonly steps: StepInfo[] = [];
  private at = BEGIN;

  /** Says a decision. */
  audit(stage: string, payload: Json = {}): this {
    this.notices.push({ seq: this.notices.length, at: this.at, kind: 'audit', stage, payload });
    return this;
  }

  /** Tells people something. */
  says(text: string, level: 'INFO' | 'ERROR' = 'INFO'): this {
    this.notices.push({ seq: this.notices.length, at: this.at, kind: 'verbose', step: 'S', determinant: 'D', level, text });
    return this;
  }

  /** Runs a step. */
  step(step: string, inside: () => void = () => {}, changed = false): this {
    this.steps.push({ step, seq: this.notices.length, finished: true, changed });
    this.audit('STEP_ENTER', { step });
    inside();
    return this.audit('STEP_EXIT', { step });
  }

  /** Asks for something and gets an answer. */
  asks(request: JsonObject & { kind: string }, reply: JsonObject | string, origin: Origin = 'script', delayMs = 0): this {
    const id = this.answered.length;
    const effect: Effect = { id, key: `k/${id}`, class: 'read', deadline_ms: 1000, request };
    this.at += delayMs;
    const outcome = typeof reply === 'string' ? { error: { kind: reply, message: 'no answer' } } : { ok: { kind: request.kind, ...reply } };
    this.answered.push({ effect, completion: { id, at: this.at, outcome }, delayMs, origin, seq: this.notices.length });
    return this;
  }

  /** Ends the turn. */
  ends(id: number, end: Partial<Outcome> = {}, more: Partial<TimelineTurn> = {}): TimelineTurn & { depth: number } {
    const { notices, answered: exchanges, steps } = this;
    const input = { conversation: 'main', conversationId: 'c', message: `message ${id}`, inputParams: '', reset: false, at: BEGIN, seed: 1 };
    const outcome: Outcome = { conversation_id: 'c', intent: null, state: null, payload: null, context: {}, fault: null, writes: [], ...end };
    const record: TurnRecord = { turn: id, input, notices, exchanges, outcome, journal: '', hash: '', stateHash: '', config: '', durationMs: 1, steps, explanations: [] };
    return { id, number: id, depth: id - 1, input: input, reason: '', notices, exchanges: exchanges, pendingEffects: [], record, error: undefined, parent: undefined, ...more };
  }
}

/** A call of a model. */
export const llm = (purpose: string) => ({ kind: 'llm', purpose });
/** A call of a tool. */
export const tool = (code: string, args: JsonObject = {}) => ({ kind: 'tool', tool_code: code, args });

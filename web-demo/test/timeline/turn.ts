import type { TimelineTurn } from '../../src/timeline/items';
import type { AnsweredEffect, Origin } from '../../src/session/turn-data';
import type { Effect, Json, JsonObject, Notice, Outcome, StepInfo, TurnRecord } from '../../src/types';

const BEGIN = 1_000;

/** Builds a turn from notices, steps and effects. */
export class Script {
  readonly notices: Notice[] = [];
  readonly exchanges: AnsweredEffect[] = [];
  readonly steps: StepInfo[] = [];
  private at = BEGIN;

  /** Adds an audit notice. */
  addAudit(stage: string, payload: Json = {}): this {
    this.notices.push({ seq: this.notices.length, at: this.at, kind: 'audit', stage, payload });
    return this;
  }

  /** Adds a progress message. */
  addMessage(text: string, level: 'INFO' | 'ERROR' = 'INFO'): this {
    this.notices.push({ seq: this.notices.length, at: this.at, kind: 'verbose', step: 'S', determinant: 'D', level, text });
    return this;
  }

  /** Adds a step with its content. */
  addStep(step: string, inside: () => void = () => {}, changed = false): this {
    this.steps.push({ step, seq: this.notices.length, finished: true, changed });
    this.addAudit('STEP_ENTER', { step });
    inside();
    return this.addAudit('STEP_EXIT', { step });
  }

  /** Adds an answered effect. */
  addEffect(request: JsonObject & { kind: string }, reply: JsonObject | string, origin: Origin = 'script', delayMs = 0): this {
    const id = this.exchanges.length;
    const effect: Effect = { id, key: `k/${id}`, class: 'read', deadline_ms: 1000, request };
    this.at += delayMs;
    const outcome = typeof reply === 'string' ? { error: { kind: reply, message: 'no answer' } } : { ok: { kind: request.kind, ...reply } };
    this.exchanges.push({ effect, completion: { id, at: this.at, outcome }, delayMs, origin, seq: this.notices.length });
    return this;
  }

  /** Returns the finished turn. */
  finish(id: number, end: Partial<Outcome> = {}, more: Partial<TimelineTurn> = {}): TimelineTurn & { depth: number } {
    const { notices, exchanges, steps } = this;
    const input = { conversation: 'main', conversationId: 'c', message: `message ${id}`, inputParams: '', reset: false, at: BEGIN, seed: 1 };
    const outcome: Outcome = { conversation_id: 'c', intent: null, state: null, payload: null, context: {}, fault: null, writes: [], ...end };
    const record: TurnRecord = { turn: id, input, notices, exchanges, outcome, journal: '', hash: '', stateHash: '', config: '', durationMs: 1, steps, explanations: [] };
    return { id, number: id, depth: id - 1, input, reason: '', notices, exchanges, pendingEffects: [], record, error: undefined, parent: undefined, ...more };
  }
}

/** A model request. */
export const llm = (purpose: string) => ({ kind: 'llm', purpose });
/** A tool request. */
export const tool = (code: string, args: JsonObject = {}) => ({ kind: 'tool', tool_code: code, args });

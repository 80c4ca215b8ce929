import type { EngineError } from './client';
import { waitingText } from './exchange';
import type { Repeat, Ask, Progress } from './protocol';
import type { AnsweredEffect, UserInput } from './session/turn-data';
import type { Effect, Notice, Token, TurnRecord } from './types';

/** A turn of a conversation while it runs and after it ended. */
export class Turn {
  notices = $state.raw<Notice[]>([]);
  exchanges = $state.raw<AnsweredEffect[]>([]);
  pendingEffects = $state.raw<Effect[]>([]);
  /** What waits for a person to answer it. */
  asks = $state.raw<Ask[]>([]);
  /** What a model has written so far. */
  partialText = $state('');
  record = $state.raw<TurnRecord>();
  error = $state.raw<EngineError>();
  /** Hash of the recorded turn that this one plays again. */
  recordedHash = $state('');

  /** How many turns stand before it on its branch. */
  readonly depth: number;
  private writingEffect: number | undefined;

  /**
   * @param reason why it branches off, in a few words; empty where it goes on
   * @param original the turn that it runs again
   */
  constructor(
    readonly id: number,
    readonly parent: Turn | undefined,
    readonly input: UserInput,
    readonly reason = '',
    readonly original?: Turn,
  ) {
    this.depth = parent ? parent.depth + 1 : 0;
  }

  /** Faults that leave no answer behind: nothing came, or the process ended. A run of it again has to be told of them. */
  silentFaults: Repeat['edits'] = [];

  /** Its number within its branch, counted from one. */
  get number(): number {
    return this.depth + 1;
  }

  /** Whether the engine still works on it. */
  get running(): boolean {
    return !this.record && !this.error;
  }

  /** What a person would see of the work: the last progress text, or what is waited for. */
  get activity(): string {
    const notice = this.notices.findLast((it) => it.kind === 'verbose' && it.text);
    if (notice?.kind === 'verbose' && notice.text) return notice.text;
    const effect = this.pendingEffects[0];
    return effect ? waitingText(effect) : 'Working';
  }

  /** How often a model was asked anew for this turn: recorded and scripted answers cost nothing. */
  get newCallCount(): number {
    return this.exchanges.filter((it) => it.effect.request.kind === 'llm' && ['live', 'auto', 'manual'].includes(it.origin)).length;
  }

  /** The turns of its branch up to this one, the first one first. */
  get path(): Turn[] {
    const out: Turn[] = [];
    for (let at: Turn | undefined = this; at; at = at.parent) out.push(at);
    return out.reverse();
  }

  /** The newest turn of its branch, up to this one, that has ended. */
  get lastFinished(): Turn | undefined {
    return this.path.findLast((it) => it.record);
  }

  /** Takes in what the worker says while the turn runs. */
  applyProgress(progress: Progress): void {
    if (progress.type === 'notices') this.notices = [...this.notices, ...progress.notices];
    else if (progress.type === 'effect') this.pendingEffects = [...this.pendingEffects.filter((it) => it.id !== progress.effect.id), progress.effect];
    else if (progress.type === 'token') this.appendToken(progress.token);
    else if (progress.type === 'ask') this.asks = [...this.asks, progress.ask];
    else if (progress.type === 'restart') this.notices = [];
    else if (progress.type === 'answer') {
      this.pendingEffects = this.pendingEffects.filter((it) => it.id !== progress.exchange.effect.id);
      this.asks = this.asks.filter((it) => it.effect.id !== progress.exchange.effect.id);
      this.exchanges = [...this.exchanges, progress.exchange];
    }
  }

  /** Takes in the finished turn. */
  finish(record: TurnRecord): void {
    this.notices = record.notices;
    this.exchanges = record.exchanges;
    this.pendingEffects = [];
    this.asks = [];
    this.record = record;
  }

  /** Takes in why the turn could not be run. */
  fail(error: EngineError): void {
    this.pendingEffects = [];
    this.asks = [];
    this.error = error;
  }

  /** Another answer, or another attempt at this one, begins anew. */
  private appendToken(token: Token): void {
    const continues = token.effect === this.writingEffect && !('reset' in token);
    this.writingEffect = token.effect;
    this.partialText = (continues ? this.partialText : '') + ('text' in token ? token.text : '');
  }
}

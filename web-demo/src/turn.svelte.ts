import type { EngineError } from './client';
import { waitingText } from './exchange';
import type { Repeat, Ask, Progress } from './protocol';
import type { AnsweredEffect, UserInput } from './session/turn-data';
import type { Effect, Notice, Token, TurnRecord } from './types';

/** A turn, running or finished. */
export class Turn {
  notices = $state.raw<Notice[]>([]);
  exchanges = $state.raw<AnsweredEffect[]>([]);
  pendingEffects = $state.raw<Effect[]>([]);
  /** Effects that wait for a manual answer. */
  asks = $state.raw<Ask[]>([]);
  /** The text that a model has streamed so far. */
  partialText = $state('');
  record = $state.raw<TurnRecord>();
  error = $state.raw<EngineError>();
  /** The state hash of the recorded turn that this one replays. */
  recordedHash = $state('');

  /** How many turns precede it on its branch. */
  readonly depth: number;
  private writingEffect: number | undefined;

  /**
   * @param reason why it branches off; empty where it continues a branch
   * @param original the turn that it reruns
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

  /** Faults without a recorded answer (no reply, or a crash); a rerun has to apply them again. */
  silentFaults: Repeat['edits'] = [];

  /** Its number on its branch, counted from one. */
  get number(): number {
    return this.depth + 1;
  }

  /** Whether it is still running. */
  get running(): boolean {
    return !this.record && !this.error;
  }

  /** The latest progress message, or what the turn waits for. */
  get activity(): string {
    const notice = this.notices.findLast((it) => it.kind === 'verbose' && it.text);
    if (notice?.kind === 'verbose' && notice.text) return notice.text;
    const effect = this.pendingEffects[0];
    return effect ? waitingText(effect) : 'Working';
  }

  /** The number of new model calls; recorded and scripted answers do not count. */
  get newCallCount(): number {
    return this.exchanges.filter((it) => it.effect.request.kind === 'llm' && ['live', 'auto', 'manual'].includes(it.origin)).length;
  }

  /** The turns of its branch up to this one, first to last. */
  get path(): Turn[] {
    const out: Turn[] = [];
    for (let at: Turn | undefined = this; at; at = at.parent) out.push(at);
    return out.reverse();
  }

  /** The newest finished turn of its branch, up to this one. */
  get lastFinished(): Turn | undefined {
    return this.path.findLast((it) => it.record);
  }

  /** Applies progress reported by the worker. */
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

  /** Stores the record of the finished turn. */
  finish(record: TurnRecord): void {
    this.notices = record.notices;
    this.exchanges = record.exchanges;
    this.pendingEffects = [];
    this.asks = [];
    this.record = record;
  }

  /** Stores why the turn could not be run. */
  fail(error: EngineError): void {
    this.pendingEffects = [];
    this.asks = [];
    this.error = error;
  }

  /** Appends a token; another effect or attempt starts over. */
  private appendToken(token: Token): void {
    const continues = token.effect === this.writingEffect && !('reset' in token);
    this.writingEffect = token.effect;
    this.partialText = (continues ? this.partialText : '') + ('text' in token ? token.text : '');
  }
}

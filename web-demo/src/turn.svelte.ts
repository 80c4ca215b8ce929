import type { Progress } from './protocol';
import type { EngineError } from './client';
import { awaited } from './exchange';
import type { Effect, Exchange, Notice, Token, TurnRecord } from './types';

/** A turn of the chat while it runs and after it ended. */
export class Turn {
  notices = $state.raw<Notice[]>([]);
  exchanges = $state.raw<Exchange[]>([]);
  waiting = $state.raw<Effect[]>([]);
  /** What a model has written so far. */
  writing = $state('');
  record = $state.raw<TurnRecord>();
  error = $state.raw<EngineError>();

  private writer: number | undefined;

  constructor(
    readonly number: number,
    readonly message: string,
    readonly conversationId: string,
    readonly inputParams = '',
  ) {}

  /** Whether the engine still works on it. */
  get running(): boolean {
    return !this.record && !this.error;
  }

  /** What a person would see of the work: the last progress text, or what is waited for. */
  get doing(): string {
    const said = this.notices.findLast((it) => it.kind === 'verbose' && it.text);
    if (said?.kind === 'verbose' && said.text) return said.text;
    const effect = this.waiting[0];
    return effect ? awaited(effect) : 'Working';
  }

  /** Takes in what the worker says while the turn runs. */
  follow(progress: Progress): void {
    if (progress.type === 'notices') this.notices = [...this.notices, ...progress.notices];
    else if (progress.type === 'effect') this.waiting = [...this.waiting, progress.effect];
    else if (progress.type === 'token') this.write(progress.token);
    else if (progress.type === 'answer') {
      this.waiting = this.waiting.filter((it) => it.id !== progress.exchange.effect.id);
      this.exchanges = [...this.exchanges, progress.exchange];
    }
  }

  /** Takes in the finished turn. */
  finish(record: TurnRecord): void {
    this.notices = record.notices;
    this.exchanges = record.exchanges;
    this.waiting = [];
    this.record = record;
  }

  /** Takes in why the turn could not be run. */
  fail(error: EngineError): void {
    this.waiting = [];
    this.error = error;
  }

  /** Another answer, or another attempt at this one, begins anew. */
  private write(token: Token): void {
    const goesOn = token.effect === this.writer && !('reset' in token);
    this.writer = token.effect;
    this.writing = (goesOn ? this.writing : '') + ('text' in token ? token.text : '');
  }
}

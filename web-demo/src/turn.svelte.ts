import type { EngineError } from './client';
import { awaited } from './exchange';
import type { Again, Ask, Progress } from './protocol';
import type { Answered, Said } from './session/saved';
import type { Effect, Notice, Token, TurnRecord } from './types';

/** A turn of a conversation while it runs and after it ended. */
export class Turn {
  notices = $state.raw<Notice[]>([]);
  answered = $state.raw<Answered[]>([]);
  waiting = $state.raw<Effect[]>([]);
  /** What waits for a person to answer it. */
  asks = $state.raw<Ask[]>([]);
  /** What a model has written so far. */
  writing = $state('');
  record = $state.raw<TurnRecord>();
  error = $state.raw<EngineError>();
  /** Hash of the recorded turn that this one plays again. */
  recordedHash = $state('');

  /** How many turns stand before it on its branch. */
  readonly depth: number;
  private writer: number | undefined;

  /**
   * @param reason why it branches off, in a few words; empty where it goes on
   * @param like the turn that it runs again
   */
  constructor(
    readonly id: number,
    readonly parent: Turn | undefined,
    readonly said: Said,
    readonly reason = '',
    readonly like?: Turn,
  ) {
    this.depth = parent ? parent.depth + 1 : 0;
  }

  /** Faults that leave no answer behind: nothing came, or the process ended. A run of it again has to be told of them. */
  struck: Again['edits'] = [];

  /** Its number within its branch, counted from one. */
  get number(): number {
    return this.depth + 1;
  }

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

  /** How often a model was asked anew for this turn: recorded and scripted answers cost nothing. */
  get newCalls(): number {
    return this.answered.filter((it) => it.effect.request.kind === 'llm' && ['live', 'auto', 'manual'].includes(it.origin)).length;
  }

  /** The turns of its branch up to this one, the first one first. */
  get path(): Turn[] {
    const out: Turn[] = [];
    for (let at: Turn | undefined = this; at; at = at.parent) out.push(at);
    return out.reverse();
  }

  /** The newest turn of its branch, up to this one, that has ended. */
  get ended(): Turn | undefined {
    return this.path.findLast((it) => it.record);
  }

  /** Takes in what the worker says while the turn runs. */
  follow(progress: Progress): void {
    if (progress.type === 'notices') this.notices = [...this.notices, ...progress.notices];
    else if (progress.type === 'effect') this.waiting = [...this.waiting.filter((it) => it.id !== progress.effect.id), progress.effect];
    else if (progress.type === 'token') this.write(progress.token);
    else if (progress.type === 'ask') this.asks = [...this.asks, progress.ask];
    else if (progress.type === 'again') this.notices = [];
    else if (progress.type === 'answer') {
      this.waiting = this.waiting.filter((it) => it.id !== progress.answered.effect.id);
      this.asks = this.asks.filter((it) => it.effect.id !== progress.answered.effect.id);
      this.answered = [...this.answered, progress.answered];
    }
  }

  /** Takes in the finished turn. */
  finish(record: TurnRecord): void {
    this.notices = record.notices;
    this.answered = record.answered;
    this.waiting = [];
    this.asks = [];
    this.record = record;
  }

  /** Takes in why the turn could not be run. */
  fail(error: EngineError): void {
    this.waiting = [];
    this.asks = [];
    this.error = error;
  }

  /** Another answer, or another attempt at this one, begins anew. */
  private write(token: Token): void {
    const goesOn = token.effect === this.writer && !('reset' in token);
    this.writer = token.effect;
    this.writing = (goesOn ? this.writing : '') + ('text' in token ? token.text : '');
  }
}

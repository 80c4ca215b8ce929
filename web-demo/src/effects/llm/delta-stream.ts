import type { Token } from '../../types';
import type { SecretRedactor } from '../secrets';
import type { ReasoningSplitter } from './reasoning';

/** Streams the deltas of an answer to an observer, with secrets redacted. */
export class DeltaStream {
  private pending = '';
  private hasStarted = false;
  /** How much of the answer was taken, and how much of an earlier one was withdrawn. */
  private taken = 0;
  private withdrawn = 0;

  constructor(
    private readonly effect: number,
    private readonly redactor: SecretRedactor,
    private readonly emit: (token: Token) => void,
  ) {}

  /** Starts an attempt; withdraws the deltas of an earlier one. */
  startAttempt(): void {
    this.pending = '';
    this.taken = this.withdrawn = 0;
    if (this.hasStarted) this.emit({ effect: this.effect, reset: true });
    this.hasStarted = true;
  }

  /** Emits what is new of an answer. If it turned out to be thoughts, what was emitted is withdrawn. */
  follow({ answer, withdrawn }: ReasoningSplitter): void {
    if (this.withdrawn !== withdrawn) {
      this.startAttempt();
      this.withdrawn = withdrawn;
    }
    const text = answer.slice(this.taken);
    this.taken = answer.length;
    this.push(text);
  }

  /** Adds a delta; emits what can no longer contain part of a secret. */
  private push(text: string): void {
    this.pending += text;
    this.emitUpTo(this.redactor.safeLength(this.pending));
  }

  /** Emits the rest of a complete answer. */
  finish(): void {
    this.emitUpTo(this.pending.length);
  }

  private emitUpTo(end: number): void {
    if (end > 0) this.emit({ effect: this.effect, text: this.redactor.redact(this.pending.slice(0, end)) });
    this.pending = this.pending.slice(end);
  }
}

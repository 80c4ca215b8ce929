import type { Token } from '../../types';
import type { SecretRedactor } from '../secrets';

/** Streams the deltas of an answer to an observer, with secrets redacted. */
export class DeltaStream {
  private pending = '';
  private hasStarted = false;

  constructor(
    private readonly effect: number,
    private readonly redactor: SecretRedactor,
    private readonly emit: (token: Token) => void,
  ) {}

  /** Starts an attempt; withdraws the deltas of an earlier one. */
  startAttempt(): void {
    this.pending = '';
    if (this.hasStarted) this.emit({ effect: this.effect, reset: true });
    this.hasStarted = true;
  }

  /** Adds a delta; emits what can no longer contain part of a secret. */
  push(text: string): void {
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

import type { ModelError } from './model-error';
import type { Deadline } from './transport';

const MAX_WAIT_MS = 8_000;

/** How calls of one model are retried. */
export interface RetryPolicy {
  attempts: number;
  /** Milliseconds before the second attempt, unless the provider names a delay; doubles with each attempt. */
  waitMs: number;
}

/** The remaining attempts of one model call and the next delay. */
export class RetryState {
  private attemptsLeft: number;
  private waitMs: number;

  constructor(
    private readonly deadline: Deadline,
    { attempts, waitMs }: RetryPolicy,
  ) {
    this.attemptsLeft = attempts;
    this.waitMs = waitMs;
  }

  /** Waits before the next attempt; rethrows an error that is not retryable, exhausts the attempts, or would exceed the deadline. */
  async waitAfter(error: ModelError): Promise<void> {
    this.attemptsLeft--;
    const wait = error.error.retry_after_ms ?? this.waitMs;
    this.waitMs = Math.min(this.waitMs * 2, MAX_WAIT_MS);
    const inTime = performance.now() + wait < this.deadline.endsAt;
    if (error.recovery !== 'retry' || this.attemptsLeft === 0 || !inTime) throw error;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

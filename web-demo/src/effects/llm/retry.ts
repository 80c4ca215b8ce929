import type { Failed } from './failed';
import type { Time } from './wire';

const LONGEST_WAIT_MS = 8_000;

/** How much patience there is with a model. */
export interface Temper {
  attempts: number;
  /** Milliseconds before the second attempt, where the model names none; each further wait is twice as long. */
  wait: number;
}

/** How often one model is asked, and how long is waited in between. */
export class Patience {
  private attempts: number;
  private wait: number;

  constructor(
    private readonly time: Time,
    { attempts, wait }: Temper,
  ) {
    this.attempts = attempts;
    this.wait = wait;
  }

  /** Waits until the model may be asked again; throws the failure when it lasts, was the last one, or would have to wait too long. */
  async after(failed: Failed): Promise<void> {
    this.attempts--;
    const wait = failed.error.retry_after_ms ?? this.wait;
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
    const inTime = performance.now() + wait < this.time.ends;
    if (failed.then !== 'again' || this.attempts === 0 || !inTime) throw failed;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

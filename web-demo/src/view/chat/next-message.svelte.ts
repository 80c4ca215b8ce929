import { START, type FlowEvent } from '../../flow/event';
import { structured } from '../../pretty';

/** How much time passes before a message, by what it is called. */
export const WAITS: [name: string, milliseconds: number | undefined][] = [
  ['a minute later', undefined],
  ['at once', 0],
  ['an hour later', 3_600_000],
  ['the next day', 86_400_000],
  ['30 days later', 30 * 86_400_000],
];

/** The number of the wait of a day. */
export const NEXT_DAY = 3;

/** How the next message is sent. */
class Next {
  /** The number of its wait. */
  wait = $state(0);
  /** Whether it resets the conversation, as the first message of a new chat of a client does. */
  reset = $state(false);
  /** What the next session of a flow begins with, as JSON: `params`, `locale`, `channel`, `user`. */
  begins = $state('');

  /** Why that cannot be used. */
  get fault(): string {
    const value = this.begins.trim() === '' ? {} : structured(this.begins);
    return value === undefined || Array.isArray(value) ? 'write a JSON object, such as {"locale": "de-DE", "channel": "sms"}' : '';
  }

  /** The beginning of the next session. */
  get start(): FlowEvent {
    const more = this.begins.trim() === '' || this.fault ? {} : (JSON.parse(this.begins) as object);
    return { ...more, ...START };
  }

  /** What is set, in words. */
  get words(): string {
    return [this.wait > 0 && WAITS[this.wait]?.[0], this.reset && 'new chat'].filter(Boolean).join(', ');
  }

  /** How much time passes first; nothing for what is usual. */
  get waits(): { wait?: number } {
    const wait = WAITS[this.wait]?.[1];
    return wait === undefined ? {} : { wait };
  }

  /** Forgets what was set, since the message has been sent. */
  clear(): void {
    [this.wait, this.reset] = [0, false];
  }
}

/** How the next message of this page is sent. */
export const next = new Next();

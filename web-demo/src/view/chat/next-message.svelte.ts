import { START_EVENT, type FlowEvent } from '../../flow/event';
import { parseStructured } from '../../format';

/** How much time passes before a message, by what it is called. */
export const DELAYS: [name: string, milliseconds: number | undefined][] = [
  ['a minute later', undefined],
  ['at once', 0],
  ['an hour later', 3_600_000],
  ['the next day', 86_400_000],
  ['30 days later', 30 * 86_400_000],
];

/** The number of the wait of a day. */
export const NEXT_DAY = 3;

/** How the next message is sent. */
class NextMessage {
  /** The number of its wait. */
  delayIndex = $state(0);
  /** Whether it resets the conversation, as the first message of a new chat of a client does. */
  reset = $state(false);
  /** What the next session of a flow begins with, as JSON: `params`, `locale`, `channel`, `user`. */
  startJson = $state('');

  /** Why that cannot be used. */
  get startProblem(): string {
    const value = this.startJson.trim() === '' ? {} : parseStructured(this.startJson);
    return value === undefined || Array.isArray(value) ? 'write a JSON object, such as {"locale": "de-DE", "channel": "sms"}' : '';
  }

  /** The beginning of the next session. */
  get startEvent(): FlowEvent {
    const more = this.startJson.trim() === '' || this.startProblem ? {} : (JSON.parse(this.startJson) as object);
    return { ...more, ...START_EVENT };
  }

  /** What is set, in words. */
  get summary(): string {
    return [this.delayIndex > 0 && DELAYS[this.delayIndex]?.[0], this.reset && 'new chat'].filter(Boolean).join(', ');
  }

  /** How much time passes first; nothing for what is usual. */
  get delayOption(): { delayIndex?: number } {
    const delayIndex = DELAYS[this.delayIndex]?.[1];
    return delayIndex === undefined ? {} : { delayIndex };
  }

  /** Forgets what was set, since the message has been sent. */
  clear(): void {
    [this.delayIndex, this.reset] = [0, false];
  }
}

/** How the next message of this page is sent. */
export const nextMessage = new NextMessage();

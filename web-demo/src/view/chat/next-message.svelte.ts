import { START_EVENT, type FlowEvent } from '../../flow/event';
import { parseStructured } from '../../format';

/** Delays before a message, with their labels; `undefined` is the default. */
export const DELAYS: [name: string, milliseconds: number | undefined][] = [
  ['a minute later', undefined],
  ['immediately', 0],
  ['an hour later', 3_600_000],
  ['the next day', 86_400_000],
  ['30 days later', 30 * 86_400_000],
];

/** The index of the delay of one day. */
export const NEXT_DAY = 3;

/** Options of the next message. */
class NextMessage {
  /** The index of its delay. */
  delayIndex = $state(0);
  /** Whether it resets the conversation. */
  reset = $state(false);
  /** The start parameters of the next flow session, as JSON: `params`, `locale`, `time_zone`, `channel`, `user`, `visitor`. */
  startJson = $state('');
  /** The trigger of the next session of a workflow graph, by the id of its node; empty for any. */
  trigger = $state('');

  /** Why the start parameters are invalid; empty if they are valid. */
  get startProblem(): string {
    const value = this.startJson.trim() === '' ? {} : parseStructured(this.startJson);
    return value === undefined || Array.isArray(value) ? 'enter a JSON object, such as {"locale": "de-DE", "channel": "sms"}' : '';
  }

  /** The start event of the next session. */
  get startEvent(): FlowEvent {
    const more = this.startJson.trim() === '' || this.startProblem ? {} : (JSON.parse(this.startJson) as object);
    return { ...(this.trigger ? { trigger: this.trigger } : {}), ...more, ...START_EVENT };
  }

  /** Describes the options that are set. */
  get summary(): string {
    return [this.delayIndex > 0 && DELAYS[this.delayIndex]?.[0], this.reset && 'reset'].filter(Boolean).join(', ');
  }

  /** The delay, unless it is the default. */
  get delayOption(): { delayIndex?: number } {
    const delayIndex = DELAYS[this.delayIndex]?.[1];
    return delayIndex === undefined ? {} : { delayIndex };
  }

  /** Resets the options after a message has been sent. */
  clear(): void {
    [this.delayIndex, this.reset] = [0, false];
  }
}

/** The options of the next message on this page. */
export const nextMessage = new NextMessage();

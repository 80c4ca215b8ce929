import { formatPreview } from '../../format';
import type { TurnRecord } from '../../types';

/** The work of a turn is told when it takes that long, and at most every so often. */
export const FIRST_DELAY_MS = 1000;
export const MIN_INTERVAL_MS = 5000;

/** A turn as it is heard. */
export interface AnnouncedTurn {
  number: number;
  running: boolean;
  /** What a person would see of the work. */
  activity: string;
  record: Pick<TurnRecord, 'outcome'> | undefined;
  error: { code: string; message: string } | undefined;
}

/** What is said to those who do not see the chat; what is empty is said no more. */
export interface Announcement {
  /** In its turn. */
  polite: string;
  /** At once. */
  alert: string;
}

/** Decides what is said of the newest turn, so that each reply is heard once and nothing is read out for a change of the branch. */
export class TurnAnnouncer {
  private turn: AnnouncedTurn | undefined;
  private announced = '';
  private nextAt = 0;

  /** Answers what to say now; nothing when all that is new has been said. */
  update(turn: AnnouncedTurn | undefined, now: number): Announcement | undefined {
    if (turn?.running) return this.announceProgress(turn, now);
    const hasEnded = turn && turn === this.turn;
    this.turn = undefined;
    return hasEnded ? announceEnd(turn) : undefined;
  }

  /** How long to wait until there may be more to say; nothing when there is nothing to wait for. */
  nextDelay(now: number): number | undefined {
    return this.turn && this.announced !== this.turn.activity ? Math.max(0, this.nextAt - now) : undefined;
  }

  private announceProgress(turn: AnnouncedTurn, now: number): Announcement | undefined {
    if (turn !== this.turn) {
      [this.turn, this.announced, this.nextAt] = [turn, '', now + FIRST_DELAY_MS];
      // The same reply is news again.
      return { polite: '', alert: '' };
    }
    if (now < this.nextAt || turn.activity === this.announced) return undefined;
    [this.announced, this.nextAt] = [turn.activity, now + MIN_INTERVAL_MS];
    return { polite: turn.activity, alert: '' };
  }
}

function announceEnd({ number, record, error }: AnnouncedTurn): Announcement {
  const fault = record?.outcome.fault ?? error;
  const payload = record?.outcome.payload;
  const reply = payload?.type === 'JSON' ? `JSON, ${formatPreview(payload.value)}` : payload?.value;
  return {
    polite: reply ? `Reply of turn ${number}: ${reply}` : fault ? '' : `Turn ${number} has no reply`,
    alert: fault ? `Turn ${number} failed: ${fault.code}, ${fault.message}` : '',
  };
}

import { runAnswer, statusText } from '../../chain/run';
import { callFailures } from '../../call-failures';
import { formatPreview } from '../../format';
import type { AnsweredEffect } from '../../session/turn-data';
import type { TurnRecord } from '../../types';

/** Progress is announced after this delay, and at most this often, in milliseconds. */
export const FIRST_DELAY_MS = 1000;
export const MIN_INTERVAL_MS = 5000;

/** The part of a turn that is announced. */
export interface AnnouncedTurn {
  number: number;
  running: boolean;
  /** The visible progress text. */
  activity: string;
  record: Pick<TurnRecord, 'outcome'> | undefined;
  exchanges: AnsweredEffect[];
  error: { code: string; message: string } | undefined;
}

/** Texts of the live regions; empty texts clear them. */
export interface Announcement {
  /** Announced when the screen reader is idle. */
  polite: string;
  /** Announced immediately. */
  alert: string;
}

/** Announces the newest turn: each reply once, and nothing on a branch change. */
export class TurnAnnouncer {
  private turn: AnnouncedTurn | undefined;
  private announced = '';
  private nextAt = 0;

  /** Returns the next announcement, if any. */
  update(turn: AnnouncedTurn | undefined, now: number): Announcement | undefined {
    if (turn?.running) return this.announceProgress(turn, now);
    const hasEnded = turn && turn === this.turn;
    this.turn = undefined;
    return hasEnded ? announceEnd(turn) : undefined;
  }

  /** Milliseconds until the next possible announcement; `undefined` for none. */
  nextDelay(now: number): number | undefined {
    return this.turn && this.announced !== this.turn.activity ? Math.max(0, this.nextAt - now) : undefined;
  }

  private announceProgress(turn: AnnouncedTurn, now: number): Announcement | undefined {
    if (turn !== this.turn) {
      [this.turn, this.announced, this.nextAt] = [turn, '', now + FIRST_DELAY_MS];
      // Clear the regions, so that an equal reply is announced again.
      return { polite: '', alert: '' };
    }
    if (now < this.nextAt || turn.activity === this.announced) return undefined;
    [this.announced, this.nextAt] = [turn.activity, now + MIN_INTERVAL_MS];
    return { polite: turn.activity, alert: '' };
  }
}

function announceEnd({ number, record, error, exchanges }: AnnouncedTurn): Announcement {
  const fault = record?.outcome.fault ?? error;
  const payload = record?.outcome.payload;
  const reply = payload?.type === 'JSON' ? `JSON, ${formatPreview(payload.value)}` : payload?.value;
  const failures = callFailures(exchanges);
  const run = runAnswer(record?.outcome);
  const status = run && `Turn ${number}: ${run.error ? `refused, ${run.error.message}` : `run ${statusText(run.status)}`}`;
  return {
    polite: [reply && `Reply of turn ${number}: ${reply}`, status].filter(Boolean).join('. ') || (fault ? '' : `Turn ${number} has no reply`),
    alert: [...(fault ? [`Turn ${number} failed: ${fault.code}, ${fault.message}`] : []), ...failures].join('. '),
  };
}

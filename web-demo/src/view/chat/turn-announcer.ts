import { preview } from '../../pretty';
import type { TurnRecord } from '../../types';

/** The work of a turn is told when it takes that long, and at most every so often. */
export const FIRST_MS = 1000;
export const PAUSE_MS = 5000;

/** A turn as it is heard. */
export interface Heard {
  number: number;
  running: boolean;
  /** What a person would see of the work. */
  doing: string;
  record: Pick<TurnRecord, 'outcome'> | undefined;
  error: { code: string; message: string } | undefined;
}

/** What is said to those who do not see the chat; what is empty is said no more. */
export interface Said {
  /** In its turn. */
  polite: string;
  /** At once. */
  alarm: string;
}

/** Decides what is said of the newest turn, so that each reply is heard once and nothing is read out for a change of the branch. */
export class Announcing {
  private turn: Heard | undefined;
  private told = '';
  private next = 0;

  /** Answers what to say now; nothing when all that is new has been said. */
  hear(turn: Heard | undefined, now: number): Said | undefined {
    if (turn?.running) return this.work(turn, now);
    const ended = turn && turn === this.turn;
    this.turn = undefined;
    return ended ? endOf(turn) : undefined;
  }

  /** How long to wait until there may be more to say; nothing when there is nothing to wait for. */
  wait(now: number): number | undefined {
    return this.turn && this.told !== this.turn.doing ? Math.max(0, this.next - now) : undefined;
  }

  private work(turn: Heard, now: number): Said | undefined {
    if (turn !== this.turn) {
      [this.turn, this.told, this.next] = [turn, '', now + FIRST_MS];
      // The same reply is news again.
      return { polite: '', alarm: '' };
    }
    if (now < this.next || turn.doing === this.told) return undefined;
    [this.told, this.next] = [turn.doing, now + PAUSE_MS];
    return { polite: turn.doing, alarm: '' };
  }
}

function endOf({ number, record, error }: Heard): Said {
  const fault = record?.outcome.fault ?? error;
  const payload = record?.outcome.payload;
  const reply = payload?.type === 'JSON' ? `JSON, ${preview(payload.value)}` : payload?.value;
  return {
    polite: reply ? `Reply of turn ${number}: ${reply}` : fault ? '' : `Turn ${number} has no reply`,
    alarm: fault ? `Turn ${number} failed: ${fault.code}, ${fault.message}` : '',
  };
}

import type { SharedSession } from './share';
import type { SavedSession, Slot } from './session-store';

/** Stores sessions, all or none. */
export type SaveSessions = (sessions: Partial<Record<Slot, SavedSession>>) => Promise<void>;

/** Saves the session of this visit, and keeps the one of the visit before in another slot. */
export class Autosave {
  private isFailing = false;

  /**
   * @param before the session of the visit before
   * @param save stores sessions
   * @param report is told once why sessions cannot be stored
   */
  constructor(
    private readonly before: SavedSession | undefined,
    private readonly save: SaveSessions,
    private readonly report: (sentence: string) => void,
  ) {}

  /** Saves a session. */
  async store(session: SharedSession): Promise<void> {
    const { before } = this;
    const differs = before !== undefined && contentOf(before) !== contentOf(session);
    try {
      await this.save({ latest: session, ...(differs ? { previous: before } : {}) });
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.report(`This browser could not store the session (${describeError(error)}). Save it as a file (Share) before you leave.`);
      this.isFailing = true;
    }
  }
}

/** The content of a session without the position in it. */
function contentOf(session: SavedSession): string {
  return JSON.stringify({ ...session, cursor: undefined, head: undefined });
}

function describeError(error: unknown): string {
  const { name, message } = error as Error;
  if (name === 'QuotaExceededError') return 'its storage is full';
  return message || name || 'storage is blocked';
}

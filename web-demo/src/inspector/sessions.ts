import { redactSession } from '../flow/redaction';
import type { JsonObject, StepSessions, TurnRecord } from '../types';
import { sessionsAroundTurn } from './flow-session';

/** The session before and after a step; `after` is missing when the step did not finish. */
export interface SessionPair {
  before: JsonObject;
  after: JsonObject | undefined;
}

/** Requests the session before and after a step from the engine. */
export type LoadSessions = (turn: number, index: number) => Promise<StepSessions>;

/** How many steps are cached: enough for the writers of a turn and a watch list. */
const MAX_CACHED = 80;

/** Loads the sessions around steps on demand and caches the most recently used. */
export class SessionCache {
  private readonly cached = new Map<string, Promise<SessionPair>>();

  /** @param redactedPaths the paths of flow variables whose values are hidden */
  constructor(
    private readonly load: LoadSessions,
    private readonly redactedPaths: () => string[] = () => [],
  ) {}

  /** Returns the session around a step; `turn` is the turn's number in the worker. */
  aroundStep(turn: number, index: number): Promise<SessionPair> {
    const key = `${turn}/${index}`;
    const known = this.cached.get(key);
    const found = known ?? this.load(turn, index).then(({ before, after }) => this.redact({ before, after: after ?? undefined }));
    // Least recently used entries are evicted first.
    this.cached.delete(key);
    this.cached.set(key, found);
    if (!known) found.catch(() => this.cached.delete(key));
    for (const old of this.cached.keys()) {
      if (this.cached.size <= MAX_CACHED) break;
      this.cached.delete(old);
    }
    return found;
  }

  /** Returns the session around a step, or around a whole turn. */
  async around(record: TurnRecord, step: number | undefined): Promise<SessionPair | undefined> {
    if (step !== undefined) return this.aroundStep(record.turn, step);
    // A flow turn starts before its first node and may enter none.
    if (record.outcome.flow) return this.redact(sessionsAroundTurn(record));
    const last = record.steps.findLastIndex((it) => it.finished);
    if (record.steps.length === 0) return undefined;
    const { before } = await this.aroundStep(record.turn, 0);
    return { before, after: last < 0 ? undefined : (await this.aroundStep(record.turn, last)).after };
  }

  private redact({ before, after }: SessionPair): SessionPair {
    const names = this.redactedPaths();
    return { before: redactSession(before, names), after: after && redactSession(after, names) };
  }

  /** Returns the session at the end of a step, or of a whole turn. */
  async after(record: TurnRecord, step: number | undefined): Promise<JsonObject | undefined> {
    const around = await this.around(record, step);
    return around?.after ?? around?.before;
  }
}

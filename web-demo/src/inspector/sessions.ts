import { redactSession } from '../flow/redaction';
import type { JsonObject, TurnRecord } from '../types';
import { sessionsAroundTurn } from './flow-session';

/** The session before and after a step; `after` is missing when the step did not finish. */
export interface SessionPair {
  before: JsonObject;
  after: JsonObject | undefined;
}

/** Asks the engine for the session around a step of a turn, as JSON texts. */
export type LoadSessions = (turn: number, index: number) => Promise<{ before: string; after: string | null }>;

/** How many steps are kept: enough for the writers of a turn and a watch list beside it. */
const MAX_CACHED = 80;

/** Sessions of steps, asked for when somebody looks; the latest ones are kept. */
export class SessionCache {
  private readonly cached = new Map<string, Promise<SessionPair>>();

  /** @param redactedPaths the variables of flows whose values are not shown */
  constructor(
    private readonly load: LoadSessions,
    private readonly redactedPaths: () => string[] = () => [],
  ) {}

  /** Gives the session around a step of a turn by its number in the worker. */
  aroundStep(turn: number, index: number): Promise<SessionPair> {
    const key = `${turn}/${index}`;
    const known = this.cached.get(key);
    const found = known ?? this.load(turn, index).then(({ before, after }) => this.redact({ before: JSON.parse(before) as JsonObject, after: after === null ? undefined : (JSON.parse(after) as JsonObject) }));
    // What was looked at last is kept longest.
    this.cached.delete(key);
    this.cached.set(key, found);
    if (!known) found.catch(() => this.cached.delete(key));
    for (const old of this.cached.keys()) {
      if (this.cached.size <= MAX_CACHED) break;
      this.cached.delete(old);
    }
    return found;
  }

  /** Gives the session around a step, or around a whole turn. */
  async around(record: TurnRecord, step: number | undefined): Promise<SessionPair | undefined> {
    if (step !== undefined) return this.aroundStep(record.turn, step);
    // A turn of a flow begins before its first node and may enter none.
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

  /** Gives the session at the end of a step, or of a whole turn. */
  async after(record: TurnRecord, step: number | undefined): Promise<JsonObject | undefined> {
    const around = await this.around(record, step);
    return around?.after ?? around?.before;
  }
}

import { redacted } from '../flow/redact';
import type { JsonObject, TurnRecord } from '../types';
import { aroundTurn } from './flow-session';

/** The session before and after a step; `after` is missing when the step did not finish. */
export interface Around {
  before: JsonObject;
  after: JsonObject | undefined;
}

/** Asks the engine for the session around a step of a turn, as JSON texts. */
export type StepOf = (turn: number, index: number) => Promise<{ before: string; after: string | null }>;

/** How many steps are kept: enough for the writers of a turn and a watch list beside it. */
const KEPT = 80;

/** Sessions of steps, asked for when somebody looks; the latest ones are kept. */
export class Sessions {
  private readonly kept = new Map<string, Promise<Around>>();

  /** @param secret the variables of flows whose values are not shown */
  constructor(
    private readonly ask: StepOf,
    private readonly secret: () => string[] = () => [],
  ) {}

  /** Gives the session around a step of a turn by its number in the worker. */
  of(turn: number, index: number): Promise<Around> {
    const key = `${turn}/${index}`;
    const known = this.kept.get(key);
    const found = known ?? this.ask(turn, index).then(({ before, after }) => this.shown({ before: JSON.parse(before) as JsonObject, after: after === null ? undefined : (JSON.parse(after) as JsonObject) }));
    // What was looked at last is kept longest.
    this.kept.delete(key);
    this.kept.set(key, found);
    if (!known) found.catch(() => this.kept.delete(key));
    for (const old of this.kept.keys()) {
      if (this.kept.size <= KEPT) break;
      this.kept.delete(old);
    }
    return found;
  }

  /** Gives the session around a step, or around a whole turn. */
  async around(record: TurnRecord, step: number | undefined): Promise<Around | undefined> {
    if (step !== undefined) return this.of(record.turn, step);
    // A turn of a flow begins before its first node and may enter none.
    if (record.outcome.flow) return this.shown(aroundTurn(record));
    const last = record.steps.findLastIndex((it) => it.finished);
    if (record.steps.length === 0) return undefined;
    const { before } = await this.of(record.turn, 0);
    return { before, after: last < 0 ? undefined : (await this.of(record.turn, last)).after };
  }

  private shown({ before, after }: Around): Around {
    const names = this.secret();
    return { before: redacted(before, names), after: after && redacted(after, names) };
  }

  /** Gives the session at the end of a step, or of a whole turn. */
  async after(record: TurnRecord, step: number | undefined): Promise<JsonObject | undefined> {
    const around = await this.around(record, step);
    return around?.after ?? around?.before;
  }
}

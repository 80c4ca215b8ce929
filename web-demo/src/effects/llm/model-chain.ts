import type { Effect, JsonObject, Token } from '../../types';
import type { Answer, EffectError } from '../answer';
import type { Secrets } from '../secrets';
import type { Access } from './access';
import type { LlmRequest } from './call';
import { Deltas } from './deltas';
import { Failed } from './failed';
import { Patience, type Temper } from './patience';
import { Remote } from './remote';
import type { Time } from './wire';

/** Characters of an error that the core gets. */
const LONGEST_MESSAGE = 500;

/** The models that a person has named, asked in their order until one answers. */
export class Models {
  private readonly order: Remote[];

  constructor(
    accesses: Access[],
    private readonly secrets: Secrets,
    private readonly temper: Temper = { attempts: 3, wait: 500 },
  ) {
    this.order = accesses.map((it) => new Remote(it));
  }

  /** Answers a model call within its deadline; one who takes too long leaves the others their share of the time. */
  async answer(effect: Effect, tell?: (token: Token) => void): Promise<Answer> {
    const ends = performance.now() + effect.deadline_ms;
    const deltas = effect.stream && tell ? new Deltas(effect.id, this.secrets, tell) : undefined;
    let error: EffectError = { kind: 'unsupported', message: 'no language model is named' };
    for (const [index, remote] of this.order.entries()) {
      const share = (ends - performance.now()) / (this.order.length - index);
      try {
        return { ok: this.scrubbed(await this.patiently(remote, effect, deltas, timeOf(share))) };
      } catch (failed) {
        if (!(failed instanceof Failed)) throw failed;
        error = this.told(remote, failed.error);
        if (failed.then === 'stop') break;
      }
    }
    return { error };
  }

  /** Asks one model until its answer or the end of the patience. */
  private async patiently(remote: Remote, effect: Effect, deltas: Deltas | undefined, time: Time) {
    const patience = new Patience(time, this.temper);
    for (;;) {
      deltas?.begin();
      try {
        return await remote.ask(effect.request as unknown as LlmRequest, deltas, time);
      } catch (failed) {
        if (!(failed instanceof Failed)) throw failed;
        await patience.after(failed);
      }
    }
  }

  private scrubbed(reply: JsonObject & { kind: string }) {
    const scrub = (it: unknown) => this.secrets.scrub(String(it));
    return { ...reply, text: scrub(reply['text']), model: scrub(reply['model']) };
  }

  /** Says who an error is from, without secrets, and not more than is good for an audit. */
  private told({ name }: Remote, error: EffectError): EffectError {
    const message = [...this.secrets.scrub(error.message).toWellFormed()].slice(0, LONGEST_MESSAGE).join('');
    return { ...error, message: `${name}: ${message}` };
  }
}

function timeOf(share: number): Time {
  const milliseconds = Math.max(0, Math.floor(share));
  return { milliseconds, ends: performance.now() + milliseconds, signal: AbortSignal.timeout(milliseconds) };
}

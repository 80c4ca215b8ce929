import type { Effect, JsonObject, Token } from '../../types';
import type { EffectOutcome, EffectError } from '../outcome';
import type { SecretRedactor } from '../secrets';
import type { ModelConfig } from './model-config';
import type { LlmRequest } from './call';
import { DeltaStream } from './delta-stream';
import { ModelError } from './model-error';
import { RetryState, type RetryPolicy } from './retry';
import { RemoteModel } from './remote-model';
import type { Deadline } from './transport';

/** Maximum length of an error message, in characters. */
const MAX_MESSAGE_CHARS = 500;

/** The configured models, called in order until one answers. */
export class ModelChain {
  private readonly models: RemoteModel[];

  constructor(
    accesses: ModelConfig[],
    private readonly redactor: SecretRedactor,
    private readonly retryPolicy: RetryPolicy = { attempts: 3, waitMs: 500 },
  ) {
    this.models = accesses.map((it) => new RemoteModel(it));
  }

  /** Answers a model effect within its deadline, of which each model gets an equal share. */
  async answer(effect: Effect, onToken?: (token: Token) => void): Promise<EffectOutcome> {
    const endsAt = performance.now() + effect.deadline_ms;
    const deltas = effect.stream && onToken ? new DeltaStream(effect.id, this.redactor, onToken) : undefined;
    let error: EffectError = { kind: 'unsupported', message: 'no language model is configured' };
    for (const [index, remote] of this.models.entries()) {
      const share = (endsAt - performance.now()) / (this.models.length - index);
      try {
        return { ok: this.redactReply(await this.askWithRetries(remote, effect, deltas, deadlineIn(share))) };
      } catch (thrown) {
        if (!(thrown instanceof ModelError)) throw thrown;
        error = this.describeError(remote, thrown.error);
        if (thrown.recovery === 'stop') break;
      }
    }
    return { error };
  }

  /** Calls one model until it answers or its retries are exhausted. */
  private async askWithRetries(remote: RemoteModel, effect: Effect, deltas: DeltaStream | undefined, deadline: Deadline) {
    const retries = new RetryState(deadline, this.retryPolicy);
    for (;;) {
      deltas?.startAttempt();
      try {
        return await remote.ask(effect.request as unknown as LlmRequest, deltas, deadline);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        await retries.waitAfter(error);
      }
    }
  }

  private redactReply(reply: JsonObject & { kind: string }) {
    const scrub = (it: unknown) => this.redactor.redact(String(it));
    const reasoning = reply['reasoning'] === undefined ? {} : { reasoning: scrub(reply['reasoning']) };
    return { ...reply, ...reasoning, text: scrub(reply['text']), model: scrub(reply['model']) };
  }

  /** Prefixes an error with its model, redacts secrets and limits its length. */
  private describeError({ name }: RemoteModel, error: EffectError): EffectError {
    const message = [...this.redactor.redact(error.message).toWellFormed()].slice(0, MAX_MESSAGE_CHARS).join('');
    return { ...error, message: `${name}: ${message}` };
  }
}

function deadlineIn(share: number): Deadline {
  const limitMs = Math.max(0, Math.floor(share));
  return { limitMs, endsAt: performance.now() + limitMs, signal: AbortSignal.timeout(limitMs) };
}

import type { TurnObserver } from '../turn-runner';
import type { Answer, Completion, Effect } from '../types';
import { toAnswer } from './outcome';
import { HttpClient } from './http/http';
import type { ModelConfig } from './llm/model-config';
import { ModelChain } from './llm/model-chain';
import { SecretRedactor, type Secret } from './secrets';

/** The models and secrets of a live chat. They are kept in memory only. */
export interface LiveAccess {
  /** The models, in fallback order; without any, the pack's script answers. */
  models: ModelConfig[];
  /** Secrets that packs may use in request headers. */
  secrets: Secret[];
}

/** The engine method that live effects need. */
export interface ScriptEngine {
  answer(effect: number, at?: number): Answer;
}

/** The beginnings of URLs that only the pack answers: its fake service, and channels of notifications, which a page does not have. */
const OF_PACK = ['${STUB}', 'notify:'];

/** Executes the model and HTTP effects of a live chat. */
export class LiveEffects {
  private readonly models: ModelChain | undefined;
  private readonly http: HttpClient;

  constructor({ models, secrets }: LiveAccess) {
    // API keys are redacted as well, but packs cannot use them.
    const keys = models.map(({ provider, key }) => ({ name: `key of ${provider}`, value: key.trim() }));
    const scrubber = new SecretRedactor([...secrets, ...keys]);
    this.models = models.length > 0 ? new ModelChain(models, scrubber) : undefined;
    this.http = new HttpClient(secrets, scrubber);
  }

  /** Answers an effect; undefined if the pack answers it. */
  answer(engine: ScriptEngine, effect: Effect, now: () => number, observer: TurnObserver): Promise<Answer> | undefined {
    if (effect.request.kind === 'http') return this.callService(engine, effect, now);
    if (effect.request.kind !== 'llm') return undefined;
    return this.models?.answer(effect, observer.token).then((it) => toAnswer(effect, it, now()));
  }

  /** Tries the pack's script first, then calls the service. */
  private async callService(engine: ScriptEngine, effect: Effect, now: () => number): Promise<Answer> {
    const scripted = engine.answer(effect.id, now());
    const outcome = JSON.parse(scripted.outcome) as Completion['outcome'];
    const unsupported = 'error' in outcome && outcome.error.kind === 'unsupported';
    const url = String(effect.request['url']);
    if (!unsupported || OF_PACK.some((it) => url.startsWith(it))) return scripted;
    return toAnswer(effect, await this.http.answer(effect), now());
  }
}

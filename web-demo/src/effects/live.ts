import type { Watch } from '../drive';
import type { Completion, Effect } from '../types';
import { completed } from './answer';
import { Http } from './http/http';
import type { Access } from './llm/access';
import { Models } from './llm/models';
import { Secrets, type Secret } from './secrets';

/** What a person lets a live chat reach. It is in memory alone. */
export interface Reach {
  /** The models, in the order in which they are asked; without any, the pack's script answers. */
  models: Access[];
  /** What packs may name in the headers of their calls. */
  secrets: Secret[];
}

/** What answering from outside needs of the engine. */
export interface ScriptEngine {
  answer(effect: number, at?: number): string;
}

/** Marks the address of a pack's own stub service. */
const STUB = '${STUB}';

/** Answers what a live chat asks of the world outside of its pack. */
export class Live {
  private readonly models: Models | undefined;
  private readonly http: Http;

  constructor({ models, secrets }: Reach) {
    // The keys are struck out by the same means, and no pack can name them.
    const keys = models.map(({ provider, key }) => ({ name: `key of ${provider}`, value: key.trim() }));
    const scrubber = new Secrets([...secrets, ...keys]);
    this.models = models.length > 0 ? new Models(models, scrubber) : undefined;
    this.http = new Http(secrets, scrubber);
  }

  /** Answers an effect in the engine's form; nothing when the pack answers it. */
  answer(engine: ScriptEngine, effect: Effect, now: () => number, watch: Watch): Promise<string> | undefined {
    if (effect.request.kind === 'http') return this.call(engine, effect, now);
    if (effect.request.kind !== 'llm') return undefined;
    return this.models?.answer(effect, watch.token).then((it) => completed(effect, it, now()));
  }

  /** Asks the pack first: it may have a script for the tool or the task. */
  private async call(engine: ScriptEngine, effect: Effect, now: () => number): Promise<string> {
    const scripted = engine.answer(effect.id, now());
    const { completion } = JSON.parse(scripted) as { completion: Completion };
    const unsupported = 'error' in completion.outcome && completion.outcome.error.kind === 'unsupported';
    if (!unsupported || String(effect.request['url']).startsWith(STUB)) return scripted;
    return completed(effect, await this.http.answer(effect), now());
  }
}

import { effectTitle } from './exchange';
import type { Reach } from './effects/live';
import { PROVIDERS, type ModelConfig, type Provider } from './effects/llm/model-config';
import type { Secret } from './effects/secrets';
import { addUsage, type ModelUsage } from './effects/model-usage';
import type { FaultRule, Progress, Sources } from './protocol';
import type { Effect } from './types';

/** Who answers the calls of models, as a person chooses it. */
export type ModelSource = Exclude<Sources['models'], 'pack'>;

/** Who answers, what goes wrong, and what the chat may reach of the world. Nothing of it is stored: it is gone with the page. */
export class AnswerSettings {
  models = $state<ModelConfig[]>([]);
  secrets = $state<Secret[]>([]);
  source = $state<ModelSource>('script');
  others = $state<Sources['others']>('script');
  /** Faults that strike whatever fits. */
  faults = $state<FaultRule[]>([]);
  /** How many calls of models may leave the page. */
  limit = $state<number | null>(100);
  /** What the calls of models have come to. */
  usage = $state.raw<ModelUsage>({ calls: 0, inputTokens: 0, outputTokens: 0 });
  private staleChoices = $state<Sources['stale']>({});

  /** @param onClearKeys is told when keys and secrets are to be forgotten elsewhere too */
  constructor(private readonly onClearKeys: () => void = () => {}) {}

  /** How many calls of models may still leave the page. */
  get callsLeft(): number {
    return Math.max(0, (this.limit ?? 0) - this.usage.calls);
  }

  /** Who answers, in a few words. */
  get label(): string {
    if (this.source === 'manual') return 'you';
    if (this.source === 'auto') return 'automatic stub';
    const names = this.models.map(({ provider, model }) => model.trim() || PROVIDERS[provider].title);
    return this.source === 'live' ? names.join(', else ') || 'no model named yet' : 'script, else stub';
  }

  /** Chooses who is asked at a place; nobody takes the place away. */
  setModel(index: number, provider: Provider | '', address = ''): void {
    // A key is for one provider and is not told to another.
    const chosen = provider ? [{ provider, address, model: '', key: '' }] : [];
    this.models.splice(index, 1, ...chosen);
  }

  /** Counts what a model was asked. */
  countUsage(progress: Progress): void {
    if (progress.type === 'answer') this.usage = addUsage(this.usage, progress.exchange);
  }

  /** Empties all keys and secrets. */
  clearKeys(): void {
    for (const it of this.models) it.key = '';
    this.secrets = [];
    this.onClearKeys();
  }

  /** Does from now on what was decided once about recorded answers whose request has changed. */
  rememberChoice(effect: Effect, use: Sources['stale'][string]): void {
    this.staleChoices = { ...this.staleChoices, [effectTitle(effect)]: use };
  }

  /** Lets nothing leave the page until somebody wants it again. */
  disableLive(): void {
    if (this.source === 'live') this.source = 'script';
    if (this.others === 'live') this.others = 'script';
  }

  /** Gives it as it is now. */
  toRunOptions(): { sources: Sources; reach: Reach; faults: FaultRule[]; liveLeft: number } {
    const named = this.secrets.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    const reach = { models: $state.snapshot(this.models), secrets: named.filter((it) => it.name && it.value) };
    const sources = { models: this.source, others: this.others, stale: $state.snapshot(this.staleChoices) };
    return { sources, reach, faults: $state.snapshot(this.faults), liveLeft: this.callsLeft };
  }
}

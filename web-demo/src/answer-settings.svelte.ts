import { effectTitle } from './exchange';
import type { LiveAccess } from './effects/live';
import { PROVIDERS, type ModelConfig, type Provider } from './effects/llm/model-config';
import type { Secret } from './effects/secrets';
import { addUsage, type ModelUsage } from './effects/model-usage';
import type { FaultRule, Progress, Sources } from './protocol';
import type { Effect } from './types';

/** Who answers model calls. */
export type ModelSource = Exclude<Sources['models'], 'pack'>;

/** Who answers effects, which faults are active, and which models and services may be called. Kept in memory only. */
export class AnswerSettings {
  models = $state<ModelConfig[]>([]);
  secrets = $state<Secret[]>([]);
  source = $state<ModelSource>('script');
  others = $state<Sources['others']>('script');
  /** Active faults. */
  faults = $state<FaultRule[]>([]);
  /** The maximum number of live model calls. */
  limit = $state<number | null>(100);
  /** What live model calls have used so far. */
  usage = $state.raw<ModelUsage>({ calls: 0, inputTokens: 0, outputTokens: 0 });
  private staleChoices = $state<Sources['stale']>({});

  /** @param onClearKeys called when keys and secrets are deleted */
  constructor(private readonly onClearKeys: () => void = () => {}) {}

  /** The remaining live model calls. */
  get callsLeft(): number {
    return Math.max(0, (this.limit ?? 0) - this.usage.calls);
  }

  /** Names who answers model calls. */
  get label(): string {
    if (this.source === 'manual') return 'manual';
    if (this.source === 'auto') return 'stub only';
    const names = this.models.map(({ provider, model }) => model.trim() || PROVIDERS[provider].title);
    return this.source === 'live' ? names.join(', then ') || 'no model configured' : 'script, then stub';
  }

  /** Sets the model at an index; an empty provider removes it. */
  setModel(index: number, provider: Provider | '', address = ''): void {
    // A key belongs to one provider and is never sent to another.
    const chosen = provider ? [{ provider, address, model: '', key: '' }] : [];
    this.models.splice(index, 1, ...chosen);
  }

  /** Counts a live model call. */
  countUsage(progress: Progress): void {
    if (progress.type === 'answer') this.usage = addUsage(this.usage, progress.exchange);
  }

  /** Deletes all keys and secrets. */
  clearKeys(): void {
    for (const it of this.models) it.key = '';
    this.secrets = [];
    this.onClearKeys();
  }

  /** Remembers how to answer a purpose whose recorded request has changed. */
  rememberChoice(effect: Effect, use: Sources['stale'][string]): void {
    this.staleChoices = { ...this.staleChoices, [effectTitle(effect)]: use };
  }

  /** Stops live calls until they are enabled again. */
  disableLive(): void {
    if (this.source === 'live') this.source = 'script';
    if (this.others === 'live') this.others = 'script';
  }

  /** Returns a snapshot for a run. */
  toRunOptions(): { sources: Sources; liveAccess: LiveAccess; faults: FaultRule[]; liveCallsLeft: number } {
    const named = this.secrets.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    const liveAccess = { models: $state.snapshot(this.models), secrets: named.filter((it) => it.name && it.value) };
    const sources = { models: this.source, others: this.others, stale: $state.snapshot(this.staleChoices) };
    return { sources, liveAccess, faults: $state.snapshot(this.faults), liveCallsLeft: this.callsLeft };
  }
}

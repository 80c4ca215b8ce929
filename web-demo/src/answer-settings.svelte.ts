import { title } from './exchange';
import type { Reach } from './fulfil/live';
import { PROVIDERS, type Access, type Provider } from './fulfil/llm/access';
import type { Secret } from './fulfil/secrets';
import { spend, type Spent } from './fulfil/spent';
import type { FaultRule, Progress, Sources } from './protocol';
import type { Effect } from './types';

/** Who answers the calls of models, as a person chooses it. */
export type ModelSource = Exclude<Sources['models'], 'pack'>;

/** Who answers, what goes wrong, and what the chat may reach of the world. Nothing of it is stored: it is gone with the page. */
export class ReachState {
  models = $state<Access[]>([]);
  secrets = $state<Secret[]>([]);
  source = $state<ModelSource>('script');
  others = $state<Sources['others']>('script');
  /** Faults that strike whatever fits. */
  faults = $state<FaultRule[]>([]);
  /** How many calls of models may leave the page. */
  limit = $state<number | null>(100);
  /** What the calls of models have come to. */
  spent = $state.raw<Spent>({ calls: 0, inputTokens: 0, outputTokens: 0 });
  private stale = $state<Sources['stale']>({});

  /** @param forgotten is told when keys and secrets are to be forgotten elsewhere too */
  constructor(private readonly forgotten: () => void = () => {}) {}

  /** How many calls of models may still leave the page. */
  get left(): number {
    return Math.max(0, (this.limit ?? 0) - this.spent.calls);
  }

  /** Who answers, in a few words. */
  get answerer(): string {
    if (this.source === 'manual') return 'you';
    if (this.source === 'auto') return 'automatic stub';
    const names = this.models.map(({ provider, model }) => model.trim() || PROVIDERS[provider].title);
    return this.source === 'live' ? names.join(', else ') || 'no model named yet' : 'script, else stub';
  }

  /** Chooses who is asked at a place; nobody takes the place away. */
  choose(index: number, provider: Provider | '', address = ''): void {
    // A key is for one provider and is not told to another.
    const chosen = provider ? [{ provider, address, model: '', key: '' }] : [];
    this.models.splice(index, 1, ...chosen);
  }

  /** Counts what a model was asked. */
  count(progress: Progress): void {
    if (progress.type === 'answer') this.spent = spend(this.spent, progress.answered);
  }

  /** Empties all keys and secrets. */
  forget(): void {
    for (const it of this.models) it.key = '';
    this.secrets = [];
    this.forgotten();
  }

  /** Does from now on what was decided once about recorded answers whose request has changed. */
  remember(effect: Effect, use: Sources['stale'][string]): void {
    this.stale = { ...this.stale, [title(effect)]: use };
  }

  /** Lets nothing leave the page until somebody wants it again. */
  stayHere(): void {
    if (this.source === 'live') this.source = 'script';
    if (this.others === 'live') this.others = 'script';
  }

  /** Gives it as it is now. */
  plain(): { sources: Sources; reach: Reach; faults: FaultRule[]; liveLeft: number } {
    const named = this.secrets.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    const reach = { models: $state.snapshot(this.models), secrets: named.filter((it) => it.name && it.value) };
    const sources = { models: this.source, others: this.others, stale: $state.snapshot(this.stale) };
    return { sources, reach, faults: $state.snapshot(this.faults), liveLeft: this.left };
  }
}

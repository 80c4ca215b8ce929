import { title } from './exchange';
import type { Reach } from './fulfil/live';
import { PROVIDERS, type Access, type Provider } from './fulfil/llm/access';
import type { Secret } from './fulfil/secrets';
import type { FaultRule, Sources } from './protocol';
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
  private stale = $state<Sources['stale']>({});

  /** Who answers, in a few words. */
  get answerer(): string {
    if (this.source === 'manual') return 'you';
    if (this.source === 'auto') return 'automatic stub';
    const names = this.models.map(({ provider, model }) => model.trim() || PROVIDERS[provider].title);
    return this.source === 'live' ? names.join(', else ') || 'no model named yet' : 'script, else stub';
  }

  /** Chooses who is asked at a place; nobody takes the place away. */
  choose(index: number, provider: Provider | ''): void {
    // A key is for one provider and is not told to another.
    const chosen = provider ? [{ provider, address: '', model: '', key: '' }] : [];
    this.models.splice(index, 1, ...chosen);
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
  plain(): { sources: Sources; reach: Reach; faults: FaultRule[] } {
    const named = this.secrets.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    const reach = { models: $state.snapshot(this.models), secrets: named.filter((it) => it.name && it.value) };
    const sources = { models: this.source, others: this.others, stale: $state.snapshot(this.stale) };
    return { sources, reach, faults: $state.snapshot(this.faults) };
  }
}

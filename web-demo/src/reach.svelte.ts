import type { Reach } from './fulfil/live';
import { PROVIDERS, type Access, type Provider } from './fulfil/llm/access';
import type { Secret } from './fulfil/secrets';

/** What the chat may reach of the world, as it is edited. Nothing of it is stored: it is gone with the page. */
export class ReachState {
  models = $state<Access[]>([]);
  secrets = $state<Secret[]>([]);

  /** Who answers, in a few words. */
  get answerer(): string {
    const names = this.models.map(({ provider, model }) => model.trim() || PROVIDERS[provider].title);
    return names.join(', else ') || 'scripted by the pack';
  }

  /** Chooses who is asked at a place; nobody takes the place away. */
  choose(index: number, provider: Provider | ''): void {
    // A key is for one provider and is not told to another.
    const chosen = provider ? [{ provider, address: '', model: '', key: '' }] : [];
    this.models.splice(index, 1, ...chosen);
  }

  /** Gives it as it is now. */
  plain(): Reach {
    const named = this.secrets.map(({ name, value }) => ({ name: name.trim(), value: value.trim() }));
    return { models: $state.snapshot(this.models), secrets: named.filter((it) => it.name && it.value) };
  }
}

/** Who a model is asked from. */
export type Provider = 'openai' | 'anthropic' | 'ollama';

/** A model as a person names it. Its key is in memory alone. */
export interface Access {
  provider: Provider;
  /** Empty for the public one. */
  address: string;
  model: string;
  /** Empty for a server that needs none. */
  key: string;
}

/** What is known of each provider: its name, its public address, and whether that one wants a key. */
export const PROVIDERS: Record<Provider, { title: string; address: string; keyed: boolean }> = {
  openai: { title: 'OpenAI-compatible', address: 'https://api.openai.com/v1', keyed: true },
  anthropic: { title: 'Anthropic', address: 'https://api.anthropic.com', keyed: true },
  ollama: { title: 'Ollama', address: 'http://127.0.0.1:11434', keyed: false },
};

/** Says why a model cannot be asked; nothing when it can. */
export function problemOf({ provider, address, model, key }: Access): string {
  const url = parsed(address.trim() || PROVIDERS[provider].address);
  if (!url) return 'the address cannot be read: write http://HOST:PORT or https://HOST';
  // What was given is not shown: it may hold a password.
  if (url.username || url.password || url.search || url.hash) return 'the address has more in it than a place: write http://HOST:PORT/PATH';
  if (!model.trim()) return 'no model is named: write its name';
  if (!/^[\x21-\x7e]*$/.test(key.trim())) return 'the key has characters in it that no key has: copy it again';
  if (!key.trim() && !address.trim() && PROVIDERS[provider].keyed) return 'a key is missing: write it, or the address of a server that needs none';
  return '';
}

/** Gives the address of a model that can be asked, without a slash at the end. */
export function addressOf({ provider, address }: Access): string {
  const text = (address.trim() || PROVIDERS[provider].address).replace(/\/+$/, '');
  return provider === 'anthropic' ? text.replace(/\/v1$/, '') : text;
}

function parsed(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
  } catch {
    return undefined;
  }
}

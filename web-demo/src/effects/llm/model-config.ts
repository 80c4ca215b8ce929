/** The API that a model is called with. */
export type Provider = 'openai' | 'anthropic' | 'ollama';

/** The configuration of a model. Its key is kept in memory only. */
export interface ModelConfig {
  provider: Provider;
  /** Base URL; empty for the provider's public API. */
  address: string;
  model: string;
  /** API key; empty for a server that needs none. */
  key: string;
}

/** Providers: title, public base URL, and whether that one needs a key. */
export const PROVIDERS: Record<Provider, { title: string; address: string; needsKey: boolean }> = {
  openai: { title: 'OpenAI-compatible', address: 'https://api.openai.com/v1', needsKey: true },
  anthropic: { title: 'Anthropic', address: 'https://api.anthropic.com', needsKey: true },
  ollama: { title: 'Ollama', address: 'http://127.0.0.1:11434', needsKey: false },
};

/** Returns why a configuration cannot be used; empty if it can. */
export function findConfigProblem({ provider, address, model, key }: ModelConfig): string {
  const url = parseHttpUrl(address.trim() || PROVIDERS[provider].address);
  if (!url) return 'invalid URL: use http://HOST:PORT or https://HOST';
  // The URL is not shown because it may contain a password.
  if (url.username || url.password || url.search || url.hash) return 'the URL must not contain credentials, a query or a fragment: use http://HOST:PORT/PATH';
  if (!model.trim()) return 'missing model name';
  if (!/^[\x21-\x7e]*$/.test(key.trim())) return 'invalid characters in the API key: copy it again';
  if (!key.trim() && !address.trim() && PROVIDERS[provider].needsKey) return 'missing API key: add it, or the URL of a server that needs none';
  return '';
}

/** Returns the base URL without a trailing slash. */
export function baseUrl({ provider, address }: ModelConfig): string {
  const text = (address.trim() || PROVIDERS[provider].address).replace(/\/+$/, '');
  return provider === 'anthropic' ? text.replace(/\/v1$/, '') : text;
}

function parseHttpUrl(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
  } catch {
    return undefined;
  }
}

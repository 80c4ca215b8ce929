import { baseUrl, type ModelConfig, type Provider } from './model-config';

/** A local model server with its default URL. */
export interface Preset {
  name: string;
  provider: Provider;
  address: string;
  /** How to allow requests from this page. */
  help: string;
}

/** The offered presets. */
export const PRESETS: Preset[] = [
  { name: 'Ollama', provider: 'ollama', address: 'http://127.0.0.1:11434', help: 'Start Ollama with OLLAMA_ORIGINS set to the origin of this page.' },
  { name: 'LM Studio', provider: 'openai', address: 'http://127.0.0.1:1234/v1', help: 'Enable CORS in the LM Studio server settings.' },
  { name: 'llama.cpp', provider: 'openai', address: 'http://127.0.0.1:8080/v1', help: 'llama-server accepts requests from local pages; for other pages, allow this origin in its CORS settings.' },
];

/** Finds the preset of a configuration. */
export function presetOf(access: ModelConfig): Preset | undefined {
  return PRESETS.find((it) => it.provider === access.provider && it.address === baseUrl(access));
}

import { addressOf, type Access, type Provider } from './access';

/** A server that people run on their own machine, where it listens unless told otherwise. */
export interface Preset {
  name: string;
  provider: Provider;
  address: string;
  /** What lets a page call it. */
  help: string;
}

/** The servers that are offered by name. */
export const PRESETS: Preset[] = [
  { name: 'Ollama', provider: 'ollama', address: 'http://127.0.0.1:11434', help: 'Start Ollama with OLLAMA_ORIGINS set to the address of this page.' },
  { name: 'LM Studio', provider: 'openai', address: 'http://127.0.0.1:1234/v1', help: 'Switch on CORS in the settings of LM Studio’s server.' },
  { name: 'llama.cpp', provider: 'openai', address: 'http://127.0.0.1:8080/v1', help: 'llama-server lets pages of this machine call it; for other pages its CORS settings have to allow this one.' },
];

/** Finds the server that a model is asked from. */
export function presetOf(access: Access): Preset | undefined {
  return PRESETS.find((it) => it.provider === access.provider && it.address === addressOf(access));
}

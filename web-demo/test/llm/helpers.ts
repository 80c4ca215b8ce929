import { afterEach } from 'vitest';
import type { EffectOutcome, EffectError } from '../../src/effects/outcome';
import type { ModelConfig, Provider } from '../../src/effects/llm/model-config';
import { ModelChain } from '../../src/effects/llm/model-chain';
import { SecretRedactor } from '../../src/effects/secrets';
import type { Effect, JsonObject, Token } from '../../src/types';
import { loopback, type Loopback, type Sent } from '../loopback.mjs';

/** The API key of all servers in these tests. */
export const KEY = 'sk-test-0123456789';

const servers: Loopback[] = [];
afterEach(() => servers.splice(0).forEach((it) => it.close()));

/** Starts a server that is closed after its test. */
export async function server(answers: Sent[]): Promise<Loopback> {
  const started = await loopback(answers);
  servers.push(started);
  return started;
}

/** Returns the configuration of a model at a server. */
export function modelConfig(provider: Provider, address: string): ModelConfig {
  return { provider, address: provider === 'openai' ? `${address}/v1` : address, model: 'test-model', key: KEY };
}

/** Returns a chain of models with that many attempts and no delays. */
export function modelChain(attempts: number, ...accesses: ModelConfig[]): ModelChain {
  return new ModelChain(accesses, new SecretRedactor([{ name: 'TEST_KEY', value: KEY }]), { attempts, waitMs: 0 });
}

/** Returns a model effect. */
export function call(mode: string, more: JsonObject = {}, deadline = 60_000): Effect {
  const context = { customer: 'not for the provider' };
  const request = { purpose: 'response_text', mode, system: 'Be kind.', user: 'Say hello.', hint: 'Shortly.', context, user_text: 'hello' };
  return { id: 3, key: 't/3', class: 'read', deadline_ms: deadline, stream: true, request: { kind: 'llm', ...request, ...more } };
}

/** An observer of a streamed answer. */
export class Listener {
  readonly tokens: Token[] = [];
  readonly onToken = (token: Token): void => void this.tokens.push(token);

  /** The text that a person sees in the end. */
  get visibleText(): string {
    return this.tokens.reduce((text, it) => ('reset' in it ? '' : text + it.text), '');
  }
}

/** Returns the reply of an outcome. */
export function reply(answer: EffectOutcome): JsonObject {
  if ('error' in answer) throw new Error(answer.error.message);
  return answer.ok;
}

/** Returns the error of an outcome. */
export function failure(answer: EffectOutcome): EffectError {
  if ('ok' in answer) throw new Error(`answered: ${JSON.stringify(answer.ok)}`);
  return answer.error;
}

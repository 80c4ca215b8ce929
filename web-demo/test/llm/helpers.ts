import { afterEach } from 'vitest';
import type { EffectOutcome, EffectError } from '../../src/effects/outcome';
import type { ModelConfig, Provider } from '../../src/effects/llm/model-config';
import { ModelChain } from '../../src/effects/llm/model-chain';
import { SecretRedactor } from '../../src/effects/secrets';
import type { Effect, JsonObject, Token } from '../../src/types';
import { loopback, type Loopback, type Sent } from '../loopback.mjs';

/** What every server of these tests is signed in to with. */
export const KEY = 'sk-test-0123456789';

const servers: Loopback[] = [];
afterEach(() => servers.splice(0).forEach((it) => it.close()));

/** Starts a server that ends with its test. */
export async function server(answers: Sent[]): Promise<Loopback> {
  const started = await loopback(answers);
  servers.push(started);
  return started;
}

/** A model of a provider at a server. */
export function access(provider: Provider, address: string): ModelConfig {
  return { provider, address: provider === 'openai' ? `${address}/v1` : address, model: 'test-model', key: KEY };
}

/** Models that are asked so often and do not wait in between. */
export function models(attempts: number, ...accesses: ModelConfig[]): ModelChain {
  return new ModelChain(accesses, new SecretRedactor([{ name: 'TEST_KEY', value: KEY }]), { attempts, waitMs: 0 });
}

/** A call of a model. */
export function call(mode: string, more: JsonObject = {}, deadline = 60_000): Effect {
  const context = { customer: 'not for the provider' };
  const request = { purpose: 'response_text', mode, system: 'Be kind.', user: 'Say hello.', hint: 'Shortly.', context, user_text: 'hello' };
  return { id: 3, key: 't/3', class: 'read', deadline_ms: deadline, stream: true, request: { kind: 'llm', ...request, ...more } };
}

/** Somebody who follows a call. */
export class Listener {
  readonly heard: Token[] = [];
  readonly tell = (token: Token): void => void this.heard.push(token);

  /** What a person sees in the end. */
  get shown(): string {
    return this.heard.reduce((text, it) => ('reset' in it ? '' : text + it.text), '');
  }
}

/** The reply of an answer. */
export function reply(answer: EffectOutcome): JsonObject {
  if ('error' in answer) throw new Error(answer.error.message);
  return answer.ok;
}

/** The error of an answer. */
export function failure(answer: EffectOutcome): EffectError {
  if ('ok' in answer) throw new Error(`answered: ${JSON.stringify(answer.ok)}`);
  return answer.error;
}

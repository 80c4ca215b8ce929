import type { EffectError, ErrorKind } from '../outcome';
import { retryAfter } from '../retry-after';
import { valueAt, textAt } from './json-value';

/** How to recover: retry the same model, try the next one, or stop because the model has answered. */
export type Recovery = 'retry' | 'next' | 'stop';

/** A model call without a usable answer. */
export class ModelError extends Error {
  readonly error: EffectError;

  constructor(
    kind: ErrorKind,
    readonly recovery: Recovery,
    message: string,
    more: Omit<EffectError, 'kind' | 'message'> = {},
  ) {
    super(message);
    this.error = { kind, message, ...more };
  }

  /** No response arrived. Browsers hide the reason to protect the user's network. */
  static unreachable(reason: string): ModelError {
    return new ModelError('unavailable', 'retry', `unreachable: ${reason}; check the URL and that the server allows requests from this page (CORS)`);
  }

  /** The deadline has passed. */
  static timeout(limitMs: number): ModelError {
    return new ModelError('timeout', 'next', `no answer within ${limitMs} ms`);
  }

  /** The answer ended early. */
  static truncated(): ModelError {
    return new ModelError('unavailable', 'retry', 'the answer ended early');
  }

  /** The answer is unusable. */
  static unusable(reason: string): ModelError {
    return new ModelError('invalid', 'next', `unusable answer: ${reason}`);
  }

  /** The provider sends several answers. */
  static severalChoices(): ModelError {
    return ModelError.unusable('it has several choices instead of one: the server must not set n above 1');
  }

  /** The model refused to answer. */
  static refusal(reason: string): ModelError {
    return new ModelError('refused', 'stop', `the model refused to answer: ${reason.trim() || 'no reason given'}`);
  }

  /** The provider reported an error within a response that began successfully. */
  static fromErrorBody(body: unknown): ModelError {
    const limited = valueAt(body, 'error', 'type') === 'rate_limit_error';
    return new ModelError(limited ? 'limited' : 'unavailable', 'retry', `the answer was aborted: ${errorMessage(body) ?? JSON.stringify(body)}`);
  }

  /** The provider responded with an error status. */
  static fromStatus(status: number, headers: Headers, body: string): ModelError {
    const json = tryParse(body);
    const [kind, recovery] = textAt(json, 'error', 'code') === 'model_not_found' ? (['not_found', 'next'] as const) : classifyStatus(status);
    const detail = (errorMessage(json) ?? body).split(/\s+/).join(' ').trim();
    const wait = retryAfter(headers, Date.now());
    return new ModelError(kind, recovery, `status ${status}${detail && `: ${detail}`}`, {
      status,
      ...(wait === undefined ? {} : { retry_after_ms: wait }),
    });
  }
}

function classifyStatus(status: number): [ErrorKind, Recovery] {
  if (status === 401 || status === 403) return ['denied', 'next'];
  if (status === 404) return ['not_found', 'next'];
  if (status === 408) return ['timeout', 'retry'];
  if (status === 429) return ['limited', 'retry'];
  return status >= 500 ? ['unavailable', 'retry'] : ['refused', 'next'];
}

/** Returns the message of an error body, in any of the providers' forms. */
function errorMessage(body: unknown): string | undefined {
  const known = [valueAt(body, 'error', 'message'), valueAt(body, 'error'), valueAt(body, 'message'), valueAt(body, 'detail'), body];
  return known.find((it) => typeof it === 'string');
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import type { EffectError, ErrorKind } from '../answer';
import { retryAfter } from '../retry-after';
import { look, lookText } from './look';

/** What may follow a failure: the same model is asked again, the next one is asked, or nobody, because the model has spoken. */
export type Then = 'again' | 'next' | 'stop';

/** A call of a model without an answer. */
export class Failed extends Error {
  readonly error: EffectError;

  constructor(
    kind: ErrorKind,
    readonly then: Then,
    message: string,
    more: Omit<EffectError, 'kind' | 'message'> = {},
  ) {
    super(message);
    this.error = { kind, message, ...more };
  }

  /** No answer came. Browsers do not say why: a page is not to learn what is in its user's network. */
  static unreachable(reason: string): Failed {
    return new Failed('unavailable', 'again', `cannot be reached: ${reason}: check the address, and that it allows calls from this page (CORS)`);
  }

  /** The time that there was for an answer has passed. */
  static late(milliseconds: number): Failed {
    return new Failed('timeout', 'next', `no answer within ${milliseconds} ms`);
  }

  /** The answer ended before its end. */
  static truncated(): Failed {
    return new Failed('unavailable', 'again', 'the answer broke off before its end');
  }

  /** The answer cannot be used. */
  static unreadable(reason: string): Failed {
    return new Failed('invalid', 'next', `the answer cannot be used: ${reason}`);
  }

  /** The model does not want to answer. */
  static refusal(reason: string): Failed {
    return new Failed('refused', 'stop', `the model refuses to answer: ${reason.trim() || 'it gives no reason'}`);
  }

  /** The provider reports a failure within an answer that began well. */
  static reported(body: unknown): Failed {
    const limited = look(body, 'error', 'type') === 'rate_limit_error';
    return new Failed(limited ? 'limited' : 'unavailable', 'again', `the answer broke off: ${message(body) ?? JSON.stringify(body)}`);
  }

  /** The provider answered with an error. */
  static ofStatus(status: number, headers: Headers, body: string): Failed {
    const json = parsed(body);
    const [kind, then] = lookText(json, 'error', 'code') === 'model_not_found' ? (['not_found', 'next'] as const) : meaning(status);
    const said = (message(json) ?? body).split(/\s+/).join(' ').trim();
    const wait = retryAfter(headers, Date.now());
    return new Failed(kind, then, `status ${status}${said && `: ${said}`}`, {
      status,
      ...(wait === undefined ? {} : { retry_after_ms: wait }),
    });
  }
}

function meaning(status: number): [ErrorKind, Then] {
  if (status === 401 || status === 403) return ['denied', 'next'];
  if (status === 404) return ['not_found', 'next'];
  if (status === 408) return ['timeout', 'again'];
  if (status === 429) return ['limited', 'again'];
  return status >= 500 ? ['unavailable', 'again'] : ['refused', 'next'];
}

/** The message of an error in the forms in which providers give it. */
function message(body: unknown): string | undefined {
  const known = [look(body, 'error', 'message'), look(body, 'error'), look(body, 'message'), look(body, 'detail')];
  return known.find((it) => typeof it === 'string');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import type { Effect } from '../../types';
import type { Answer } from '../answer';
import { TooLong, whole } from '../bytes';
import { retryAfter } from '../retry-after';
import { Secrets, type Secret } from '../secrets';
import { callOf, type HttpRequest } from './call';
import { Refusal } from './refusal';

/** Calls of services, one attempt an effect: the core repeats and reads the answer. */
export class Http {
  private readonly known: Map<string, string>;

  /** @param scrubber also knows what no call may use, such as the keys of models */
  constructor(
    secrets: Secret[],
    private readonly scrubber: Secrets,
  ) {
    this.known = new Map(secrets.map((it) => [it.name, it.value]));
  }

  /** Calls a service once. No secret is in what comes back, whose status is a reply, whatever it is. */
  async answer(effect: Effect): Promise<Answer> {
    const request = effect.request as unknown as HttpRequest;
    try {
      const { status, headers, body } = await attempt(request, callOf(request, effect.key, this.known));
      const wait = retryAfter(headers, Date.now());
      const broken = saysJson(headers) && body.trim() !== '' && !isJson(body);
      const reply = { kind: 'http', status, body: this.scrubber.scrub(body), ...(broken ? { broken_json: true } : {}) };
      return { ok: wait === undefined ? reply : { ...reply, retry_after_ms: wait } };
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      return { error: { ...refusal.error, message: this.scrubber.scrub(refusal.message) } };
    }
  }
}

async function attempt({ timeout_ms: limit, max_bytes: most }: HttpRequest, call: Request) {
  const signal = AbortSignal.timeout(limit);
  const host = new URL(call.url).hostname;
  const response = await fetch(call, { signal }).catch((error: Error) => {
    if (signal.aborted) throw new Refusal('timeout', `'${host}' did not answer within ${limit} ms`);
    const reason = `${error.message}: check the address, and that it allows calls from this page (CORS)`;
    throw new Refusal('unavailable', `'${host}' cannot be called: ${reason}`);
  });
  if (response.type === 'opaqueredirect') {
    throw new Refusal('unsupported', `'${host}' redirects, which a browser can only follow when it reads without a secret`);
  }
  const { status, headers } = response;
  const body = await whole(response.body, most).catch((error: Error) => {
    if (error instanceof TooLong) throw new Refusal('invalid', `the answer has more than ${most} bytes`, status, 'response_too_large');
    if (signal.aborted) throw new Refusal('timeout', `the body of the answer of '${host}' did not end within ${limit} ms`, status);
    throw new Refusal('unavailable', `the answer of '${host}' broke off`, status);
  });
  return { status, headers, body };
}

function saysJson(headers: Headers): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(headers.get('content-type') ?? '');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

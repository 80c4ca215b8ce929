import type { Effect } from '../../types';
import type { EffectOutcome } from '../outcome';
import { BodyTooLargeError, readText } from '../body';
import { retryAfter } from '../retry-after';
import { SecretRedactor, type Secret } from '../secrets';
import { buildRequest, type HttpRequest } from './call';
import { HttpCallError } from './call-error';
import { signBody } from './sign';

/** Executes HTTP effects with one attempt each: the core retries and interprets responses. */
export class HttpClient {
  private readonly secrets: Map<string, string>;

  /** @param redactor also redacts what calls may not use, such as API keys of models */
  constructor(
    secrets: Secret[],
    private readonly redactor: SecretRedactor,
  ) {
    this.secrets = new Map(secrets.map((it) => [it.name, it.value]));
  }

  /** Calls a service once. Any HTTP status is a reply. Secrets in the response are redacted. */
  async answer(effect: Effect): Promise<EffectOutcome> {
    const unsigned = effect.request as unknown as HttpRequest;
    try {
      const signature = unsigned.sign ? await signBody(unsigned.sign, unsigned.body ?? '', this.secrets) : [];
      const request = { ...unsigned, headers: [...unsigned.headers, ...signature] };
      const { status, headers, body } = await send(request, buildRequest(request, effect.key, this.secrets));
      const wait = retryAfter(headers, Date.now());
      const broken = hasJsonType(headers) && body.trim() !== '' && !isJson(body);
      const reply = { kind: 'http', status, body: this.redactor.redact(body), ...(broken ? { broken_json: true } : {}) };
      return { ok: wait === undefined ? reply : { ...reply, retry_after_ms: wait } };
    } catch (refusal) {
      if (!(refusal instanceof HttpCallError)) throw refusal;
      return { error: { ...refusal.error, message: this.redactor.redact(refusal.message) } };
    }
  }
}

async function send({ timeout_ms: limit, max_bytes: maxBytes }: HttpRequest, call: Request) {
  const signal = AbortSignal.timeout(limit);
  const host = new URL(call.url).hostname;
  const response = await fetch(call, { signal }).catch((error: Error) => {
    if (signal.aborted) throw new HttpCallError('timeout', `'${host}' did not answer within ${limit} ms`);
    const reason = `${error.message}; check the URL and that the service allows requests from this page (CORS)`;
    throw new HttpCallError('unavailable', `cannot call '${host}': ${reason}`);
  });
  if (response.type === 'opaqueredirect') {
    throw new HttpCallError('unsupported', `'${host}' redirects; browsers can follow redirects only of reads without a secret`);
  }
  const { status, headers } = response;
  const body = await readText(response.body, maxBytes).catch((error: Error) => {
    if (error instanceof BodyTooLargeError) throw new HttpCallError('invalid', `the response exceeds ${maxBytes} bytes`, status, 'response_too_large');
    if (signal.aborted) throw new HttpCallError('timeout', `the response body of '${host}' was incomplete after ${limit} ms`, status);
    throw new HttpCallError('unavailable', `the response of '${host}' ended early`, status);
  });
  return { status, headers, body };
}

function hasJsonType(headers: Headers): boolean {
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

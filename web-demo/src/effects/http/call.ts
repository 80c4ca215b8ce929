import type { Effect } from '../../types';
import { HttpCallError } from './call-error';
import type { SignedHeader } from './sign';

/** An HTTP request of the core. */
export interface HttpRequest {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body?: string;
  auth?: { header: string; prefix?: string; secret: string };
  sign?: SignedHeader;
  timeout_ms: number;
  max_bytes: number;
  class: Effect['class'];
  key?: string;
}

/** Headers that belong to the connection. */
const CONNECTION_HEADERS = ['connection', 'content-length', 'host', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/**
 * Builds the fetch request; throws an `HttpCallError` if it cannot be sent.
 *
 * @param key the key of the effect
 * @param secrets secret values by name
 */
export function buildRequest(request: HttpRequest, key: string, secrets: Map<string, string>): Request {
  const url = parseAddress(request.url);
  const headers = new Headers();
  for (const [name, value] of request.headers) appendHeader(headers, name, value);
  // An author's key was rendered before the first attempt and is as stable as the effect's key.
  const writes = request.class === 'write' || request.class === 'irreversible';
  if (writes && !headers.has('idempotency-key')) appendHeader(headers, 'idempotency-key', request.key ?? key);
  if (request.auth) {
    const { header, prefix = '', secret } = request.auth;
    const value = secrets.get(secret);
    if (value === undefined) throw new HttpCallError('denied', `unknown secret '${secret}': add it under "Secrets" on this page`);
    headers.delete(checkHeaderName(header));
    appendHeader(headers, header, prefix + value);
  }
  return createRequest(url, headers, request);
}

function parseAddress(text: string): URL {
  const url = tryParseUrl(text);
  if (!url) throw new HttpCallError('invalid', 'invalid URL', undefined, 'blocked_target');
  if (!['http:', 'https:'].includes(url.protocol)) throw new HttpCallError('denied', 'the URL must use http or https');
  if (url.username || url.password) throw new HttpCallError('denied', 'the URL contains credentials: use a header with a secret');
  // Packs are untrusted, and the page has privileges on its own server.
  if (url.origin === globalThis.location?.origin) throw new HttpCallError('denied', "packs may not call this page's own server");
  return url;
}

function tryParseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** Appends a header. Its value may be secret and is not part of the message. */
function appendHeader(headers: Headers, name: string, value: string): void {
  checkHeaderName(name);
  try {
    headers.append(name, value);
  } catch {
    throw new HttpCallError('invalid', `invalid characters in the value of header '${name}'`);
  }
}

function checkHeaderName(name: string): string {
  const lower = name.toLowerCase();
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) throw new HttpCallError('invalid', `invalid header name ${JSON.stringify(name)}`);
  if (CONNECTION_HEADERS.includes(lower) || lower.startsWith('proxy-')) {
    throw new HttpCallError('invalid', `header '${lower}' is controlled by the connection: remove it`);
  }
  return lower;
}

function createRequest(url: URL, headers: Headers, { method, body, auth }: HttpRequest): Request {
  const reads = method === 'GET' || method === 'HEAD';
  if (reads && body !== undefined) throw new HttpCallError('unsupported', `browsers send no body with ${method}`);
  const init: RequestInit = {
    method,
    headers,
    credentials: 'omit',
    // Redirects would forward headers and body to another service.
    redirect: reads && !auth ? 'follow' : 'manual',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
  };
  // As bytes: for a text the browser would set its own content type.
  if (body !== undefined) init.body = new TextEncoder().encode(body);
  const request = constructRequest(url, init);
  for (const name of headers.keys()) {
    if (!request.headers.has(name)) throw new HttpCallError('unsupported', `browsers do not send header '${name}': remove it`);
  }
  return request;
}

function constructRequest(url: URL, init: RequestInit): Request {
  try {
    return new Request(url, init);
  } catch {
    throw new HttpCallError('invalid', `browsers do not support the method ${JSON.stringify(init.method)}`);
  }
}

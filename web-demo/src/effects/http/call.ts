import type { Effect } from '../../types';
import { Refusal } from './refusal';

/** A call of a service, as the core writes it. */
export interface HttpRequest {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body?: string;
  auth?: { header: string; prefix?: string; secret: string };
  timeout_ms: number;
  max_bytes: number;
  class: Effect['class'];
  key?: string;
}

/** What the connection itself is run with. */
const FRAMING = ['connection', 'content-length', 'host', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

/**
 * Makes the call of a request; throws a `Refusal` for what cannot be sent.
 *
 * @param key that of its effect
 * @param secrets values by name
 */
export function callOf(request: HttpRequest, key: string, secrets: Map<string, string>): Request {
  const url = addressOf(request.url);
  const headers = new Headers();
  for (const [name, value] of request.headers) add(headers, name, value);
  // A key of the author's own was rendered before the first attempt and is as stable as ours.
  const writes = request.class === 'write' || request.class === 'irreversible';
  if (writes && !headers.has('idempotency-key')) add(headers, 'idempotency-key', request.key ?? key);
  if (request.auth) {
    const { header, prefix = '', secret } = request.auth;
    const value = secrets.get(secret);
    if (value === undefined) throw new Refusal('denied', `the secret '${secret}' is not known: write it under "Secrets" of this page`);
    headers.delete(known(header));
    add(headers, header, prefix + value);
  }
  return sendable(url, headers, request);
}

function addressOf(text: string): URL {
  const url = parsed(text);
  if (!url) throw new Refusal('invalid', 'the address cannot be read', undefined, 'blocked_target');
  if (!['http:', 'https:'].includes(url.protocol)) throw new Refusal('denied', 'the address is neither http nor https: use one of them');
  if (url.username || url.password) throw new Refusal('denied', 'the address has a user or password in it: use a header with a secret');
  // Pack text is foreign text, and to its own server a page may say what others may not.
  if (url.origin === globalThis.location?.origin) throw new Refusal('denied', "the address is this page's own server, which packs may not call");
  return url;
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** The value may be secret and is not part of the message. */
function add(headers: Headers, name: string, value: string): void {
  known(name);
  try {
    headers.append(name, value);
  } catch {
    throw new Refusal('invalid', `the value of the header '${name}' has characters in it that cannot be sent`);
  }
}

function known(name: string): string {
  const lower = name.toLowerCase();
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) throw new Refusal('invalid', `the header ${JSON.stringify(name)} has no valid name`);
  if (FRAMING.includes(lower) || lower.startsWith('proxy-')) {
    throw new Refusal('invalid', `the header '${lower}' belongs to the connection: leave it out`);
  }
  return lower;
}

function sendable(url: URL, headers: Headers, { method, body, auth }: HttpRequest): Request {
  const reads = method === 'GET' || method === 'HEAD';
  if (reads && body !== undefined) throw new Refusal('unsupported', `a browser sends no body with ${method}`);
  const init: RequestInit = {
    method,
    headers,
    credentials: 'omit',
    // A browser follows with all headers and, of a write, the body: what was meant for one service is not told to another.
    redirect: reads && !auth ? 'follow' : 'manual',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
  };
  // As bytes, because with a text a browser sends a type of its own.
  if (body !== undefined) init.body = new TextEncoder().encode(body);
  const request = constructed(url, init);
  for (const name of headers.keys()) {
    if (!request.headers.has(name)) throw new Refusal('unsupported', `a browser does not send the header '${name}': leave it out`);
  }
  return request;
}

function constructed(url: URL, init: RequestInit): Request {
  try {
    return new Request(url, init);
  } catch {
    throw new Refusal('invalid', `a browser cannot make this call with the method ${JSON.stringify(init.method)}`);
  }
}

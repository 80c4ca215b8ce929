import { afterEach, describe, expect, it, vi } from 'vitest';
import type { EffectOutcome } from '../src/effects/outcome';
import { buildRequest, type HttpRequest } from '../src/effects/http/call';
import { HttpClient } from '../src/effects/http/http';
import { SecretRedactor } from '../src/effects/secrets';
import type { Effect, JsonObject } from '../src/types';
import { chunked, loopback, sent, untilTheEnd, type Loopback, type Sent } from './loopback.mjs';

const SECRET = 'crm-"0123456789"';
const SECRETS = [{ name: 'crm', value: SECRET }];

const servers: Loopback[] = [];
afterEach(() => {
  servers.splice(0).forEach((it) => it.close());
  vi.unstubAllGlobals();
});

async function server(...answers: Sent[]): Promise<Loopback> {
  const started = await loopback(answers);
  servers.push(started);
  return started;
}

function request(url: string, more: JsonObject = {}): JsonObject & { kind: string } {
  const limits = { connect_timeout_ms: 1000, timeout_ms: 5000, max_bytes: 1000 };
  return { kind: 'http', caller: { tool: 'crm.find' }, method: 'GET', url, headers: [], class: 'read', ...limits, ...more };
}

function call(url: string, more: JsonObject = {}): Promise<EffectOutcome> {
  const effect: Effect = { id: 0, key: 't/0', class: 'read', deadline_ms: 5000, request: request(url, more) };
  return new HttpClient(SECRETS, new SecretRedactor([...SECRETS, { name: 'key of openai', value: 'sk-0123' }])).answer(effect);
}

const post = { method: 'POST', class: 'write', body: '{"a":1.0}' };

describe('an HTTP call', () => {
  it('sends the request with its secret', async () => {
    const { address, got } = await server(sent(200, 'yes'));
    const headers = [['X-Way', 'a'], ['x-way', 'b'], ['Authorization', 'none'], ['Content-Type', 'application/json']];
    const auth = { header: 'authorization', prefix: 'Bearer ', secret: 'crm' };
    expect(await call(`${address}/a?b=c%20d`, { ...post, headers, auth })).toEqual({ ok: { kind: 'http', status: 200, body: 'yes' } });
    const { method, path, headers: received, body } = got[0] ?? { headers: {} as Record<string, string> };
    expect([method, path, body]).toEqual(['POST', '/a?b=c%20d', '{"a":1.0}']);
    expect([received['x-way'], received['content-type'], received['authorization']]).toEqual(['a, b', 'application/json', `Bearer ${SECRET}`]);
  });

  it('is signed with a secret, unless an optional one is missing', async () => {
    const { address, got } = await server(sent(200, ''));
    const sign = { header: 'X-Chain-Signature', prefix: 'sha256=', secret: 'crm' };
    await call(address, { ...post, sign });
    expect(got[0]?.headers['x-chain-signature']).toBe('sha256=deadadcd3ce57c3bb96d1c3601f9d36f39087d5dc30d2addbd53acaa15e0e4f4');
    await call(address, { ...post, sign: { ...sign, secret: 'none', optional: true } });
    expect(got[1]?.headers['x-chain-signature']).toBeUndefined();
    expect(await call(address, { ...post, sign: { ...sign, secret: 'none' } })).toMatchObject({ error: { kind: 'denied' } });
    expect(got).toHaveLength(2);
  });

  it('has an idempotency key if it writes, and no default content type', async () => {
    const { address, got } = await server(sent(200, ''));
    const headers = [['idempotency-key', 'own']];
    for (const more of [{}, post, { ...post, key: 't/earlier' }, { ...post, headers }, { ...post, class: 'irreversible' }]) {
      await call(address, more);
    }
    expect(got.map((it) => it.headers['idempotency-key'])).toEqual([undefined, 't/0', 't/earlier', 'own', 't/0']);
    expect(got.map((it) => it.headers['content-type'])).toEqual(Array.from({ length: 5 }));
  });

  it('treats every status as a reply', async () => {
    const { address } = await server(sent(404, 'none'), sent(503, 'later', { 'Retry-After': '7' }), sent(204, ''));
    expect(await call(address)).toEqual({ ok: { kind: 'http', status: 404, body: 'none' } });
    expect(await call(address)).toEqual({ ok: { kind: 'http', status: 503, body: 'later', retry_after_ms: 7000 } });
    expect(await call(address)).toEqual({ ok: { kind: 'http', status: 204, body: '' } });
  });

  it('redacts secrets in the response', async () => {
    const { address } = await server(sent(200, `${SECRET} ${JSON.stringify(SECRET)} ${btoa(SECRET)} sk-0123`));
    const body = '[secret:crm] "[secret:crm]" [secret:crm] [secret:key of openai]';
    expect(await call(address)).toEqual({ ok: { kind: 'http', status: 200, body } });
  });

  it('reads the body as text up to the limit', async () => {
    const bytes = new TextEncoder().encode('\ufeff🙂');
    const cut = chunked([bytes.subarray(0, 5), bytes.subarray(5)]);
    const { address } = await server(cut, sent(200, new Uint8Array([0x41, 0xff])), sent(200, 'x'.repeat(1001)));
    expect([await call(address), await call(address)]).toEqual(
      ['\ufeff🙂', 'A\ufffd'].map((body) => ({ ok: { kind: 'http', status: 200, body } })),
    );
    expect(await call(address)).toEqual({
      error: { kind: 'invalid', status: 200, message: 'the response exceeds 1000 bytes', detail: 'response_too_large' },
    });
  });

  it('times out before or during the response', async () => {
    const begun = { bytes: untilTheEnd('He').bytes, stays: true };
    const { address } = await server({ bytes: new Uint8Array(), stays: true }, begun);
    const of = (message: string, more = {}) => ({ error: { kind: 'timeout', message, ...more } });
    expect(await call(address, { timeout_ms: 60 })).toEqual(of("'127.0.0.1' did not answer within 60 ms"));
    const late = of("the response body of '127.0.0.1' was incomplete after 60 ms", { status: 200 });
    expect(await call(address, { timeout_ms: 60 })).toEqual(late);
  });

  it('reports a failed connection or an incomplete response', async () => {
    const { bytes } = sent(200, 'half of it');
    const broken = await server({ bytes: bytes.subarray(0, bytes.length - 4) });
    expect(await call(broken.address)).toEqual({ error: { kind: 'unavailable', status: 200, message: "the response of '127.0.0.1' ended early" } });
    broken.close();
    const message = expect.stringMatching(/^cannot call '127.0.0.1': .*CORS/);
    expect(await call(broken.address)).toEqual({ error: { kind: 'unavailable', message } });
  });

  it.each([
    ['ftp://a/', {}, 'denied', 'must use http or https'],
    ['http://me:pw@a/', {}, 'denied', 'contains credentials'],
    ['http://', {}, 'invalid', 'invalid URL'],
    ['http://a/', { auth: { header: 'x', secret: 'gone' } }, 'denied', "unknown secret 'gone'"],
    ['http://a/', { auth: { header: 'x', secret: 'key of openai' } }, 'denied', 'unknown secret'],
    ['http://a/', { headers: [['a b', 'c']] }, 'invalid', 'invalid header name'],
    ['http://a/', { headers: [['Host', 'b']] }, 'invalid', 'controlled by the connection'],
    ['http://a/', { headers: [['Proxy-X', 'b']] }, 'invalid', 'controlled by the connection'],
    ['http://a/', { headers: [['x', 'hidden\r\ny: z']] }, 'invalid', "value of header 'x'"],
    ['http://a/', { headers: [['x', 'hidden 🙂']] }, 'invalid', "value of header 'x'"],
    ['http://a/', { body: 'b' }, 'unsupported', 'no body with GET'],
    ['http://a/', { method: 'TRACE' }, 'invalid', 'TRACE'],
  ])('to %s with %j is rejected', async (url, more, kind, words) => {
    const message = expect.stringContaining(words);
    const answer = await call(url, more as JsonObject);
    expect(answer).toMatchObject({ error: { kind, message } });
    expect(JSON.stringify(answer)).not.toContain('hidden');
  });

  it("to the page's own server is rejected", async () => {
    const { address, got } = await server(sent(200, ''));
    vi.stubGlobal('location', new URL(address));
    expect(await call(`${address}/api`)).toEqual({ error: { kind: 'denied', message: expect.stringContaining('own server') } });
    expect(got).toEqual([]);
  });

  it('follows redirects only of reads without secrets', () => {
    const of = (more: JsonObject) => buildRequest(request('http://a/', more) as unknown as HttpRequest, 'k', new Map([['crm', SECRET]]));
    const auth = { header: 'x', secret: 'crm' };
    const all = [of({}), of(post), of({ auth }), of({ method: 'HEAD' })];
    expect(all.map((it) => it.redirect)).toEqual(['follow', 'manual', 'manual', 'follow']);
    expect(all.map((it) => it.credentials)).toEqual(['omit', 'omit', 'omit', 'omit']);
  });

  it('reports a redirect that is not followed', async () => {
    vi.stubGlobal('fetch', async () => ({ type: 'opaqueredirect', status: 0, headers: new Headers(), body: null }));
    const message = expect.stringContaining("'a' redirects");
    expect(await call('http://a/', post)).toEqual({ error: { kind: 'unsupported', message } });
  });

  it('reports headers that browsers do not send', async () => {
    const Plain = Request;
    vi.stubGlobal('Request', function (url: URL, init: RequestInit) {
      const request = new Plain(url, init);
      request.headers.delete('cookie');
      return request;
    });
    const message = expect.stringContaining("do not send header 'cookie'");
    expect(await call('http://a/', { headers: [['Cookie', 'a']] })).toEqual({ error: { kind: 'unsupported', message } });
  });
});

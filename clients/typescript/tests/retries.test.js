/** What the client does when a server is busy, slow or gone, shown by servers that are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@convengine/client';
import { readEvents } from '../server-sent-events.js';
import { serve } from './proxy.js';

/** A server that gives these responses in turn, each `[status, headers, body]`, and notes what it was asked. */
async function scripted(t, responses) {
  const asked = [];
  const url = await serve(t, async (request, response) => {
    const body = await new Response(request, { duplex: 'half' }).text();
    asked.push({ path: request.url, key: request.headers['idempotency-key'], headers: request.headers, body: body && JSON.parse(body) });
    const [status, headers, text] = responses[asked.length - 1] ?? responses.at(-1);
    response.writeHead(status, headers);
    response.end(text);
  });
  return { url, asked };
}

const ANSWER = [200, {}, '{"success":true,"conversationId":"c","payload":null}'];
const BUSY = [503, { 'Retry-After': '0' }, '{"status":503,"error":"Service Unavailable","message":"busy"}'];

test('a busy server is asked again with the same key', async (t) => {
  const limited = [429, { 'Retry-After': '0' }, '{"error":{"code":"rate_limited","message":"slowly"}}'];
  const { url, asked } = await scripted(t, [BUSY, limited, ANSWER]);
  const client = new Client({ url: `${url}/`, apiKey: 'ce_1', tenant: 'north' });
  assert.equal((await client.tables.send('hello')).success, true);
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map((it) => it.key)).size, 1);
  assert.match(asked[0].key, /^[0-9a-f-]{36}$/);
  assert.deepEqual([asked[0].headers.authorization, asked[0].headers['x-tenant']], ['Bearer ce_1', 'north']);
});

test('the start and the events of a session keep their ids', async (t) => {
  const turn = [201, {}, '{"session_id":"s1","messages":[]}'];
  const { url, asked } = await scripted(t, [BUSY, turn, BUSY, turn]);
  const session = await new Client({ url }).assistant('a b').start();
  await session.send('hello');
  assert.deepEqual(asked.map((it) => it.path.split('/').slice(4)), [['a%20b', 'sessions'], ['a%20b', 'sessions'], ['a%20b', 'sessions', 's1', 'turns'], ['a%20b', 'sessions', 's1', 'turns']]);
  assert.deepEqual(asked[0].body, asked[1].body);
  assert.deepEqual(asked[2].body, asked[3].body);
  assert.ok(asked[0].body.session_id && asked[0].body.event_id && asked[2].body.event_id);
});

test('a long pause, another status and too many failures end the attempts', async (t) => {
  const quota = [429, { 'Retry-After': '86400' }, '{"error":{"code":"rate_limited","message":"no sessions left"}}'];
  const cases = [[quota, 1], [[500, {}, '{"error":{"code":"turn_lost","message":"lost"}}'], 1], [BUSY, 3]];
  for (const [response, attempts] of cases) {
    const { url, asked } = await scripted(t, [response]);
    await assert.rejects(new Client({ url }).assistant('a').start(), { status: response[0] });
    assert.equal(asked.length, attempts);
  }
  const { url } = await scripted(t, [quota]);
  await assert.rejects(new Client({ url }).tables.send('hello'), { code: 'rate_limited', retryAfterMs: 86_400_000, body: JSON.parse(quota[2]) });
});

test('what has no key is sent once', async (t) => {
  const { url, asked } = await scripted(t, [BUSY]);
  await assert.rejects(new Client({ url }).deployment().start(), { status: 503 });
  assert.equal(asked.length, 1);
});

test('health is asked once', async (t) => {
  const { url, asked } = await scripted(t, [[503, {}, 'down']]);
  await assert.rejects(new Client({ url }).ready(), { status: 503, code: 'service_unavailable', body: 'down' });
  assert.equal(asked.length, 1);
});

test('a subscription is repeated before its first event', async (t) => {
  const { url, asked } = await scripted(t, [BUSY, [200, {}, 'event:CONNECTED\ndata:{"conversationId":"c"}\n\n']]);
  for await (const event of new Client({ url }).tables.events('c')) assert.equal(event.type, 'CONNECTED');
  assert.equal(asked.length, 2);
});

test('a silent server times out, and a stream is not repeated for it', async (t) => {
  const asked = [];
  const url = await serve(t, (request, response) => {
    asked.push(request.url);
    if (request.url.includes('stream')) response.write('event: token\ndata: {"effect":1,"delta":"Hel"}\n\n');
  });
  const client = new Client({ url, timeoutMs: 2_000 });
  await assert.rejects(client.tables.send('hello'), { status: 0, code: 'timeout' });
  const seen = [];
  const read = async () => {
    for await (const event of client.assistant('a').session('s').stream('hello')) seen.push(event);
  };
  await assert.rejects(read(), { code: 'timeout' });
  assert.deepEqual(seen, [{ type: 'token', data: { effect: 1, delta: 'Hel' } }]);
  assert.equal(asked.length, 2);
});

test('an error at the end of a stream is thrown', async (t) => {
  const { url, asked } = await scripted(t, [[200, {}, 'event: error\ndata: {"error":{"code":"turn_lost","message":"lost"}}\n\n']]);
  const iterator = new Client({ url }).assistant('a').session('s').stream('hello')[Symbol.asyncIterator]();
  await assert.rejects(iterator.next(), { status: 200, code: 'turn_lost', message: 'lost' });
  assert.equal(asked.length, 1);
});

test('events are read however they are cut', async () => {
  const text = ': quiet\n\nid:t:1\nevent:A\ndata:{"a":"ü"}\n\nevent: b\r\ndata: [1,\r\ndata: 2]\r\n\r\ndata: 3\n\n';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size));
    const events = [];
    for await (const event of readEvents(ReadableStream.from(pieces), () => {})) events.push(event);
    assert.deepEqual(events, [
      { name: 'A', id: 't:1', data: { a: 'ü' } },
      { name: 'b', id: undefined, data: [1, 2] },
      { name: 'message', id: undefined, data: 3 },
    ]);
  }
});

/** Talks to a server at CONVENGINE_URL with the pack `orders` and the assistant `desk`, as `tests/tests/suite/client_packages.rs` starts it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Client, ConvEngineError } from '@convengine/client';
import { lossyProxy } from './proxy.js';

const url = process.env.CONVENGINE_URL;
assert.ok(url, 'CONVENGINE_URL is not set; `cargo test --test suite client_packages` starts the server and sets it');
assert.ok(process.env.CONVENGINE_DEPLOYMENT, 'CONVENGINE_DEPLOYMENT is not set: the token of a deployment of the assistant');
const client = new Client({ url });
const ON_ITS_WAY = 'Your order is on its way.';

async function list(events) {
  const listed = [];
  for await (const event of events) listed.push(event);
  return listed;
}

async function texts(id) {
  const rows = await (await fetch(`${url}/api/v1/conversation/audit/${id}`)).json();
  return rows.filter((row) => row.stage === 'USER_INPUT').map((row) => JSON.parse(row.payloadJson).text);
}

test('a healthy server says so', async () => {
  assert.equal((await client.health()).status, 'UP');
  assert.equal((await client.ready()).status, 'UP');
});

test('the types are those of the API', async () => {
  const { schemas } = (await (await fetch(`${url}/openapi.json`)).json()).components;
  const declarations = await readFile(new URL('../index.d.ts', import.meta.url), 'utf8');
  const members = (name) => [...declarations.split(`export interface ${name} {`)[1].split('\n}')[0].matchAll(/^  (\w+)\??:/gm)].map((it) => it[1]).sort();
  const described = ({ properties }, without = []) => Object.keys(properties).filter((name) => !without.includes(name)).sort();
  assert.deepEqual(members('TableMessage'), described(schemas.Message));
  assert.deepEqual(members('TableAnswer'), described(schemas.Answer));
  // Members of workflows and of AI agents are left out.
  assert.deepEqual(members('SessionStart'), described(schemas.NewSession, ['trigger']));
  assert.deepEqual(members('TurnResponse'), described(schemas.TurnResponse, ['conversation_id']));
  assert.deepEqual(members('SessionMessage'), described(schemas.TurnResponse.properties.messages.items));
});

test('a conversation of tables goes on', async () => {
  const first = await client.tables.send('my order');
  assert.deepEqual([first.success, first.intent, first.payload], [true, 'ORDERS', { type: 'TEXT', value: ON_ITS_WAY }]);
  const { conversationId } = first;
  const second = await client.tables.send({ conversationId, message: 'hello', inputParams: { note: ', please' } });
  assert.equal(second.payload.value, 'Ask me about orders, please.');
  assert.deepEqual(await texts(conversationId), ['my order', 'hello']);
});

test('the events of a turn come before its answer', async () => {
  const events = await list(client.tables.stream('my order'));
  assert.equal(events[0].type, 'CONNECTED');
  const stages = events.map((event) => event.data.stage);
  assert.ok(stages.indexOf('USER_INPUT') < stages.indexOf('ENGINE_RETURN'));
  assert.deepEqual([events.at(-1).type, events.at(-1).data.payload.value], ['ANSWER', ON_ITS_WAY]);
  assert.equal(events.at(-1).data.conversationId, events[0].data.conversationId);
});

test('a stream of events continues after one of them', async () => {
  const events = await list(client.tables.stream('my order'));
  const { conversationId } = events.at(-1).data;
  const input = events.find((event) => event.data.stage === 'USER_INPUT');
  const rest = [];
  for await (const event of client.tables.events(conversationId, { lastEventId: input.id })) {
    rest.push(event);
    if (event.data.stage === 'ENGINE_RETURN') break;
  }
  assert.equal(rest[0].data.resumed, true);
  assert.equal(rest[1].id, events[events.indexOf(input) + 1].id);
});

test('a message whose answer is lost runs once', async (t) => {
  const lossy = new Client({ url: await lossyProxy(t, url, { lost: 2 }) });
  const { conversationId, payload } = await lossy.tables.send('my order');
  assert.equal(payload.value, ON_ITS_WAY);
  assert.deepEqual(await texts(conversationId), ['my order']);
  await assert.rejects(new Client({ url: await lossyProxy(t, url), retries: 0 }).tables.send('my order'), { code: 'connection_failed', status: 0 });
});

test('a key belongs to one message', async () => {
  const idempotencyKey = `key-${Math.random()}`;
  const first = await client.tables.send('my order', { idempotencyKey });
  assert.deepEqual(await client.tables.send('my order', { idempotencyKey }), first);
  await assert.rejects(client.tables.send('hello', { idempotencyKey }), (error) => {
    assert.ok(error instanceof ConvEngineError);
    assert.deepEqual([error.status, error.code], [422, 'unprocessable_entity']);
    assert.match(error.message, /Idempotency-Key/);
    return true;
  });
});

test('a session of an assistant goes on to its end', async () => {
  const session = await client.assistant('desk').start({ locale: 'en-US' });
  assert.deepEqual(session.started.messages.map((it) => it.text), ['Welcome to Desk.']);
  const counted = await session.send('more please');
  assert.deepEqual([counted.status, counted.messages[0].text], ['awaiting_input', 'Desk 1']);
  assert.equal((await session.state()).vars.count, 1);
  const again = client.assistant('desk').session(session.id);
  assert.equal((await again.send({ type: 'user.message', text: 'good bye' })).status, 'completed');
  await assert.rejects(again.send('hello'), { name: 'ConvEngineError', status: 409, code: 'session_completed' });
  await assert.rejects(client.assistant('nobody').start(), { status: 404, code: 'not_found' });
});

test('a page talks to a deployed assistant', async () => {
  // A browser sends the origin of its page by itself.
  const fromShop = (address, request) => fetch(address, { ...request, headers: { ...request.headers, Origin: 'https://shop.example' } });
  const deployed = new Client({ url, apiKey: process.env.CONVENGINE_DEPLOYMENT, fetch: fromShop }).deployment();
  const session = await deployed.start({ locale: 'en-US' });
  assert.equal(session.started.messages[0].text, 'Welcome to Desk.');
  assert.equal((await session.send('more please')).messages[0].text, 'Desk 1');
  const events = await list(deployed.session(session.id).stream('more please'));
  assert.deepEqual(events.map((it) => it.type), ['message', 'done']);
  assert.deepEqual((await session.state()).turns.map((it) => it.user), [null, 'more please', 'more please']);
  await assert.rejects(new Client({ url, apiKey: 'cdp_wrong', fetch: fromShop }).deployment().start(), { status: 401 });
});

test('a turn is streamed', async () => {
  const session = await client.assistant('desk').start();
  const events = await list(session.stream('more please'));
  assert.deepEqual(events.filter((it) => it.type === 'message').map((it) => it.data.text), ['Desk 1']);
  assert.ok(events.some((it) => it.type === 'trace' && it.data.kind === 'node.enter'));
  assert.deepEqual([events.at(-1).type, events.at(-1).data.messages.length], ['done', 1]);
});

test('a turn whose stream breaks runs once and shows each message once', async (t) => {
  const session = await client.assistant('desk').start();
  const started = new Client({ url: await lossyProxy(t, url, { after: 1 }) }).assistant('desk').session(session.id);
  const shown = (await list(started.stream('more please'))).filter((it) => it.type !== 'trace');
  assert.deepEqual(shown.map((it) => it.type), ['message', 'done']);
  assert.equal((await session.state()).vars.count, 1);
  const lost = new Client({ url: await lossyProxy(t, url) });
  await lost.assistant('desk').start();
  assert.equal((await started.send('more please')).messages[0].text, 'Desk 2');
});

test('calls and streams are cancelled', async () => {
  await assert.rejects(client.tables.send('my order', { signal: AbortSignal.abort() }), { name: 'AbortError' });
  const session = await client.assistant('desk').start();
  const stream = session.stream('more please');
  const seen = [];
  for await (const event of stream) {
    seen.push(event);
    stream.cancel();
  }
  assert.ok(seen.every((event) => event.type !== 'done'));
  const controller = new AbortController();
  const listening = list(client.tables.events('7c0f9a52-8f0e-4c3e-8a53-1c9f0c1b2a02', { signal: controller.signal }));
  setTimeout(() => controller.abort(new Error('enough')), 50);
  await assert.rejects(listening, { message: 'enough' });
  // The turn goes on at the server, and the next one waits for it.
  assert.equal((await session.send('more please')).messages[0].text, 'Desk 2');
});

test('a program ends when it has left its streams', () => {
  const program = `
    import { Client } from '@convengine/client';
    const client = new Client({ url: '${url}' });
    for await (const event of client.tables.stream('my order')) if (event.type === 'AUDIT') break;
    const session = await client.assistant('desk').start();
    for await (const event of session.stream('more please')) break;
    console.log('left');`;
  const folder = new URL('..', import.meta.url);
  // Without it, the program would wait for the timeout of its requests.
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder, encoding: 'utf8', timeout: 60_000 }), 'left\n');
});

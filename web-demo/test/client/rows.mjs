/** The rows of the acceptance list, in the order in which somebody would come by them. Each throws when it does not hold. */
import assert from 'node:assert/strict';
import { MODES } from './chat.mjs';

const REPLY = 'Your order is on its way.';
const FOUR = ['conversationId', 'inputParams', 'message', 'reset'];
/** How long a progress text stays when another one waits. */
const READ_MS = 9_000;

export const ROWS = {
  stream,
  'audit before': auditBefore,
  core,
  status,
  audit,
  feedback,
  queue,
  reset,
  inflight,
  attach,
  renderer,
  failure,
  error,
  mode,
  progress,
};

/** The stream stands before anything is said. */
async function stream(chat) {
  if (!chat.hasStream) return;
  await chat.until('the stream', async () => (await chat.seen()).connections > 0);
  assert.equal(chat.messages().length, 0);
  await opened(chat, 1);
}

/** How the stream was opened so many times. */
async function opened(chat, times) {
  if (chat.transport === 'sse') {
    const streams = chat.calls.filter((it) => it.path.includes('/stream/'));
    for (const call of streams) await chat.statusOf(call);
    assert.deepEqual(streams.map(({ status, type }) => ({ status, type })), Array(times).fill({ status: 200, type: 'text/event-stream' }));
    return;
  }
  assert.equal(chat.sockets.length, times);
  const { pathname } = new URL(chat.sockets[times - 1].url);
  if (chat.transport === 'websocket') return assert.equal(pathname, '/ws-convengine/websocket');
  assert.match(pathname, /^\/ws-convengine\/\d{3}\/[^/]{8}\/websocket$/);
  assert.equal(await chat.statusOf(chat.to('/ws-convengine/info').at(-1)), 200);
  assert.equal(chat.calls.filter((it) => /\/xhr|\/eventsource|\/iframe/.test(it.path)).length, 0, 'a way around the WebSocket was taken');
}

async function auditBefore(chat) {
  if (!chat.hasPanels) return assert.equal(await chat.page.locator('#audit').isVisible(), false);
  await chat.until('an audit', () => chat.calls.some((it) => it.path.includes('/audit/') && it.ended));
  assert.equal(await chat.page.locator('#audit-error').isVisible(), false);
  assert.equal(await chat.page.locator('#audit-cards > li').count(), 0);
}

async function core(chat) {
  const bubble = await chat.say('my order');
  await replied(bubble, REPLY);
  assert.equal(await chat.bubbles('user').innerText(), 'my order');
  const [call] = chat.messages();
  assert.deepEqual(Object.keys(call.body).sort(), FOUR);
  const { id } = await chat.seen();
  assert.deepEqual(call.body, { conversationId: id, message: 'my order', reset: false, inputParams: {} });
  assert.equal(call.headers['content-type'], 'application/json');
  assert.deepEqual(['cookie', 'authorization'].filter((it) => call.headers[it]), []);
  if (!chat.hasStream) return;
  await closed(chat, 1);
  assert.equal((await chat.seen()).told[0], 'Reading your message');
}

/** So many turns have been closed on the stream. */
async function closed(chat, times) {
  if (!chat.hasStream) return;
  const ends = async () => (await chat.seen()).stages.filter((it) => ['ASSISTANT_OUTPUT', 'ENGINE_RETURN'].includes(it)).length;
  await chat.until(`${times} turns to be closed`, async () => (await ends()) >= times);
}

async function replied(bubble, text) {
  assert.equal((await bubble.locator('pre').first().innerText()).trim(), text);
  assert.equal(await bubble.evaluate((it) => it.classList.contains('error')), false);
}

async function status(chat) {
  const chip = (name) => chat.page.locator(`[data-chip="${name}"]`);
  if (!chat.hasPanels) return assert.equal(await chip('intent').isVisible(), false);
  assert.deepEqual(await Promise.all(['intent', 'state'].map((it) => chip(it).innerText())), ['ORDERS', 'ON_ITS_WAY']);
}

async function audit(chat) {
  if (!chat.hasPanels) return assert.equal(chat.calls.filter((it) => it.path.includes('/audit/')).length, 0);
  const said = chat.page.locator('#audit-cards [data-stage="USER_INPUT"] pre');
  await chat.until('the audit of the turn', async () => (await said.count()) === 1);
  assert.match(await said.innerText(), /"text": "my order"/);
  assert.equal(await chat.page.locator('#audit-error').isVisible(), false);
  // While it is open each event of the stream fetches all of it: the cost grows with the square of what was said.
  await chat.page.locator('#audit-open').uncheck();
}

async function feedback(chat) {
  const up = chat.bubbles('assistant').last().getByRole('button', { name: 'Good answer' });
  await up.click();
  await chat.until('the thumb', async () => (await up.getAttribute('aria-pressed')) === 'true');
  const [call] = chat.to('/feedback');
  assert.equal(await chat.statusOf(call), 200);
  assert.deepEqual([call.body.feedbackType, call.body.assistantResponse], ['THUMBS_UP', REPLY]);
  await chat.picture('answered');
}

/** What is sent while the client is busy leaves in its order, one after the other; no more than five wait. */
async function queue(chat) {
  const [sent, answered] = [chat.messages().length, await chat.bubbles('assistant').count()];
  const texts = ['wait', 'order 1', 'order 2', 'order 3', 'order 4', 'order 5'];
  assert.equal(await chat.atOnce(...texts), false);
  await chat.picture('queue');
  await chat.reply(answered + texts.length - 1);
  const calls = chat.messages().slice(sent);
  assert.deepEqual(calls.map((it) => it.body.message), texts);
  assert.deepEqual(new Set(calls.map((it) => it.body.conversationId)).size, 1);
  await chat.until('the last answer', () => calls.at(-1).ended);
  calls.slice(1).forEach((it, index) => assert.ok(it.sent > calls[index].ended, `${it.body.message} left too early`));
}

async function reset(chat) {
  const before = (await chat.seen()).id;
  await chat.page.getByRole('button', { name: 'New chat' }).click();
  assert.equal(await chat.page.locator('#transcript > li').count(), 0);
  await replied(await chat.say('my order'), REPLY);
  await replied(await chat.say('my order'), REPLY);
  const calls = chat.messages().slice(-2).map(({ body }) => [body.conversationId, body.reset]);
  assert.deepEqual(calls, [[before, true], [before, false]]);
}

/** A new chat stops nothing: two messages are under way, and both are answered. */
async function inflight(chat) {
  await chat.atOnce('wait', null, 'my order');
  await chat.reply(1);
  const [one, other] = chat.messages().slice(-2);
  await chat.until('both answers', () => one.ended && other.ended);
  assert.ok(other.sent < one.ended, 'they did not overlap');
  assert.deepEqual([one.body.conversationId, true, 200, 200], [other.body.conversationId, other.body.reset, one.status, other.status]);
  for (const index of [0, 1]) await replied(chat.bubbles('assistant').nth(index), REPLY);
}

async function attach(chat) {
  const buffer = Buffer.alloc(4 * 1024 * 1024, 'scan');
  await chat.page.locator('#attach').setInputFiles({ name: 'scan.pdf', mimeType: 'application/pdf', buffer });
  await chat.page.locator('#files li').waitFor();
  const before = await chat.bubbles('assistant').count();
  await chat.page.getByRole('button', { name: 'Send' }).click();
  const bubble = await chat.reply(before);
  assert.equal(await bubble.evaluate((it) => it.classList.contains('error')), false);
  const call = chat.messages().at(-1);
  const { body, bytes } = call;
  const [{ name, mimeType, size, content, encoding }] = body.inputParams.files;
  assert.deepEqual([name, mimeType, size, encoding, body.message, await chat.statusOf(call)], ['scan.pdf', 'application/pdf', buffer.length, 'base64', '', 200]);
  assert.ok(bytes > 4 * 1024 * 1024 && content === buffer.toString('base64'), `${bytes} bytes`);
}

/** A reply of JSON becomes a card that answers, one of a table a table. */
async function renderer(chat) {
  const bubble = await chat.say('show a card');
  assert.equal(await bubble.locator('[data-card="SelectionPrompt"] p').innerText(), 'Which colour?');
  const before = await chat.bubbles('assistant').count();
  await bubble.getByRole('button', { name: 'Deep red' }).click();
  await replied(await chat.reply(before), 'You chose red.');
  const { message, inputParams } = chat.messages().at(-1).body;
  assert.deepEqual([message, inputParams], ['red', { choice: 'red' }]);
  const faq = await chat.say('a question');
  assert.equal(await faq.locator('[data-card="FaqAnswer"] p').innerText(), 'Within thirty days.');
  const table = await chat.say('a table');
  assert.deepEqual(await table.locator('td').allInnerTexts(), ['Lamp', '2']);
  await chat.picture('cards');
}

/** What fails in the engine is answered with 200, as a usual bubble, and closed on the stream; what is blocked, too. */
async function failure(chat) {
  const before = (await chat.seen()).stages.length;
  const bubble = await chat.say('let it fail');
  const shown = JSON.parse(await bubble.locator('pre').first().innerText());
  assert.deepEqual([shown.errorCode, await chat.statusOf(chat.messages().at(-1))], ['LLM_CALL_FAILED', 200]);
  if (chat.hasPanels) assert.equal(await chat.page.locator('[data-chip="intent"]').innerText(), 'ERROR');
  await replied(await chat.say('my password'), 'Please keep that to yourself.');
  if (!chat.hasStream) return;
  await chat.until('both turns to be closed', async () => {
    const stages = (await chat.seen()).stages.slice(before);
    return stages.filter((it) => it === 'ENGINE_RETURN' || it === 'ASSISTANT_OUTPUT').length >= 2;
  });
}

/** What is refused becomes a bubble of an error without votes. */
async function error(chat) {
  const other = await chat.beside({ message: `${chat.server}/api/v1/nowhere`, transport: 'none' });
  await refused(await other.say('my order'), 'Error: ConvEngine API error: 404 Not Found');
  assert.equal(other.complaints.length, 1, other.complaints.join('; '));
  await other.page.close();
  const long = await chat.beside({ transport: 'none' });
  await refused(await long.say('x'.repeat(40_000)), 'Error: ConvEngine API error: 413 Payload Too Large');
  await replied(await long.say('my order'), REPLY);
  await long.page.close();
}

async function refused(bubble, text) {
  assert.equal(await bubble.innerText(), text);
  assert.equal(await bubble.evaluate((it) => it.classList.contains('error')), true);
  assert.equal(await bubble.locator('.votes').count(), 0);
}

/** A change of the display opens the stream anew, and it tells as before. */
async function mode(chat) {
  const next = MODES[(MODES.indexOf(chat.mode) + 1) % MODES.length];
  const { connections, told } = await chat.seen();
  await chat.page.locator(`nav [data-mode="${next}"]`).click();
  // The audit is seen for the first time; it holds a file of 4 MiB by now, and each event would fetch it again.
  if (!chat.hasPanels) await chat.page.locator('#audit-open').uncheck();
  if (chat.hasStream) {
    await chat.until('the stream to stand again', async () => (await chat.seen()).connections > connections);
    await opened(chat, 2);
  }
  await replied(await chat.say('my order'), REPLY);
  if (chat.hasStream) await chat.until('progress on the new stream', async () => (await chat.seen()).told.length > told.length);
  await chat.page.locator(`nav [data-mode="${chat.mode}"]`).click();
}

/** Of three texts of a long turn the first shows at once, and the last when the first has been read, before the answer. Once for each transport. */
async function progress(chat) {
  if (!chat.hasStream || chat.mode !== 'fullscreen' || chat.origin !== 'cross') return;
  await chat.until('the stream to stand again', async () => (await chat.seen()).connections >= 3);
  const before = (await chat.seen()).progress.length;
  await replied(await chat.say('take your time'), 'That took a while.');
  const [first, second, ...rest] = (await chat.seen()).progress.slice(before);
  assert.deepEqual([first.text, second.text, rest], ['Reading your message', 'Writing the answer', []]);
  const read = second.at - first.at;
  assert.ok(read >= READ_MS - 1, `the first text was replaced after ${read} ms`);
}

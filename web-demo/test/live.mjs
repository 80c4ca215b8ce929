/**
 * Chats in the built page with a live model and a live service, both on loopback, and searches for leaked keys and secrets.
 *
 *   node test/live.mjs BASE_URL PACK.json [--screenshots FOLDER] [--dark] [--size WIDTHxHEIGHT]
 *
 * `http://SERVICE` in the pack becomes the address of the service. Prints what the chat shows while the model writes (`{"writing"}`),
 * its answers (`{"chat"}`), what the model and the service were asked (`{"asked"}`), what it shows when neither can be reached
 * (`{"failed"}`), and where a key was seen (`{"seen"}`).
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { blankEditor, type, waitUntilStored, withPage } from './chromium.mjs';

const KEY = 'sk-live-0123456789abcdef';
const SECRET = 'crm-9876543210-"q"';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { screenshots: { type: 'string' }, dark: { type: 'boolean', default: false }, size: { type: 'string', default: '1440x900' } },
});
const [base, pack] = positionals;

const asked = [];
let goOn = () => {};
const outside = createServer(answer);
await new Promise((resolve) => outside.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${outside.address().port}`;

await withPage(base, { ...options, before: listen, tolerated: /ERR_CONNECTION_REFUSED/ }, async (page) => {
  const said = [];
  page.on('console', (it) => said.push(it.text()));
  await area(page, 'config');
  await (await blankEditor(page)).fill((await readFile(pack, 'utf8')).replaceAll('http://SERVICE', address));
  await page.locator('.pack-state.applied').waitFor();
  await area(page, 'chat');
  await choose(page);
  await picture(page, 'panel');
  // The panel is closed like it was opened, by keyboard alone.
  await page.locator('.answer-panel summary').press('Enter');

  await type(page, 'my order');
  const writing = page.locator('[data-role="writing"]');
  await writing.waitFor();
  print({ writing: await writing.innerText() });
  await picture(page, 'writing');
  goOn();
  print({ chat: await reply(page, 0) });

  await page.locator('.composer summary').click();
  await page.locator('#params').fill('{"tool_request": {"tool_code": "crm.file", "args": {"id": "7"}}}');
  await type(page, 'file a case');
  print({ chat: await reply(page, 1) });
  await area(page, 'timeline');
  await picture(page, 'answered');
  asked.forEach((it) => print({ asked: it }));

  outside.close();
  outside.closeAllConnections();
  await area(page, 'chat');
  await type(page, 'my order');
  print({ failed: await failures(page, 2) });
  await type(page, 'file a case');
  print({ failed: await failures(page, 3) });
  await picture(page, 'failed');
  print({ seen: await seen(page, said) });
});
outside.close();

/** The calls that a turn says have failed, when it has ended. */
async function failures(page, index) {
  await reply(page, index);
  return page.locator('article.turn').nth(index).locator('.bubble .failed-calls li').allInnerTexts();
}

/** Records all messages of workers: effects, answers and everything that is shown. */
async function listen(page) {
  await page.addInitScript(() => {
    globalThis.workerMessages = [];
    globalThis.Worker = class extends Worker {
      constructor(...all) {
        super(...all);
        this.addEventListener('message', (event) => globalThis.workerMessages.push(JSON.stringify(event.data)));
      }
    };
  });
}

/** Switches to an area in the narrow layout. */
async function area(page, name) {
  const tab = page.locator(`.areas [data-area="${name}"]`);
  if (await tab.isVisible()) await tab.click();
}

/** Configures the model and the secret by keyboard alone. */
async function choose(page) {
  await page.locator('.answer-panel summary').press('Enter');
  await page.getByRole('radio', { name: /Your own model/ }).press('Space');
  await page.getByLabel('Tools, tasks and services').selectOption({ label: 'Script, then call services' });
  await page.locator('.answer-panel label', { hasText: /^Provider/ }).locator('select').selectOption({ label: 'OpenAI-compatible' });
  for (const [label, text] of [['Model name', 'test-model'], ['URL', `${address}/v1`], ['API key', KEY]]) {
    await page.getByLabel(label, { exact: true }).focus();
    await page.keyboard.type(text);
  }
  await page.getByRole('button', { name: 'Add secret' }).press('Enter');
  await page.keyboard.type('crm');
  await page.keyboard.press('Tab');
  await page.keyboard.type(SECRET);
}

/** Returns the answer of a turn when it has ended. */
async function reply(page, index) {
  const turn = page.locator('article.turn').nth(index);
  const bubble = turn.locator('[data-role="assistant"], [data-role="fault"]').first();
  await bubble.waitFor();
  return ((await bubble.locator('[data-role="reply"], span, pre').last().textContent()) ?? '').trim();
}

/** Searches for the key and the secret everywhere except in their input fields. */
async function seen(page, said) {
  await page.evaluate(() => document.querySelectorAll('details').forEach((it) => (it.open = true)));
  const places = { console: said.join('\n'), url: page.url() };
  for (const turn of await page.locator('article.turn .select-turn').all()) {
    await area(page, 'chat');
    await turn.click();
    await area(page, 'inspector');
    for (const tab of await page.getByRole('tab').all()) {
      await tab.click();
      await page.evaluate(() => document.querySelectorAll('details').forEach((it) => (it.open = true)));
      const shown = await page.evaluate(() => document.documentElement.outerHTML + document.body.innerText);
      places[`${await tab.innerText()} of ${await turn.textContent()}`] = shown;
    }
  }
  await waitUntilStored(page);
  Object.assign(places, await page.evaluate(stored));
  const spellings = [KEY, SECRET].flatMap((it) => [it, JSON.stringify(it).slice(1, -1), encodeURIComponent(it), btoa(it)]);
  return Object.entries(places).filter(([, text]) => spellings.some((it) => text.includes(it))).map(([place]) => place);
}

/** Runs in the page: returns everything that it has stored and that its workers have sent. */
async function stored() {
  const database = await new Promise((resolve) => (indexedDB.open('convengine').onsuccess = ({ target }) => resolve(target.result)));
  const sessions = await new Promise((resolve) => {
    const all = database.transaction('sessions').objectStore('sessions').getAll();
    all.onsuccess = () => resolve(all.result);
  });
  return {
    workers: globalThis.workerMessages.join('\n'),
    storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, sessions, await caches.keys()]),
    pack: document.querySelector('#config').innerText,
  };
}

async function answer(request, response) {
  const { method, url, headers } = request;
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-headers', 'authorization, content-type, idempotency-key');
  if (method === 'OPTIONS') return void response.writeHead(204).end();
  let body = '';
  for await (const chunk of request) body += chunk;
  const { authorization } = headers;
  const call = JSON.parse(body || 'null');
  asked.push({ method, url, signed: authorization, key: headers['idempotency-key'], call });
  if (call?.stream) return write(response);
  response.setHeader('content-type', 'application/json');
  const content = '{"action": "ANSWER", "tool_code": null, "args": {}, "answer": "done", "operation_tag": null}';
  const planned = { model: 'test-model', choices: [{ message: { content }, finish_reason: 'stop' }] };
  response.end(JSON.stringify(url.startsWith('/v1/') ? planned : { filed: 7, echo: authorization, base64: btoa(SECRET) }));
}

/** Streams an answer, its second half after the page has shown the first; the echoed key is split between two chunks. */
async function write(response) {
  response.setHeader('content-type', 'text/event-stream');
  const piece = (content) => response.write(`data: ${JSON.stringify({ model: 'test-model', choices: [{ delta: { content } }] })}\n\n`);
  piece('It is ');
  piece(KEY.slice(0, 9));
  await new Promise((resolve) => (goOn = resolve));
  piece(KEY.slice(9));
  piece(' on its way 🙂');
  const usage = { prompt_tokens: 1001, completion_tokens: 20 };
  response.end(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }], usage })}\n\ndata: [DONE]\n\n`);
}

async function picture(page, name) {
  if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `${name}.png`) });
}

function print(line) {
  console.log(JSON.stringify(line));
}

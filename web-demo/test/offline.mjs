/**
 * Opens the built page from a static file server, below a path, and continues without server and network; then a newer build arrives.
 *
 *   node test/offline.mjs DIST
 *
 * Prints one JSON line per finding, such as `{"turns"}`: what the page does offline, and when it updates.
 */
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blankEditor, withPage } from './chromium.mjs';
import { serveFolder } from './folder.mjs';

const BELOW = '/tools/simulator/';

const folder = await mkdtemp(join(tmpdir(), 'convengine-offline-'));
await cp(process.argv[2], folder, { recursive: true });
let calls = 0;
const other = (path) => (/\/(api\/v1\/conversation|metrics)$/.test(path) ? String(++calls) : undefined);
let server = await serveFolder(folder, { below: BELOW, other });

await withPage(server.address, { keep: true }, async (page) => {
  const kept = () => page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  await kept();
  const called = await page.evaluate(async () => {
    const bodies = [];
    for (const path of ['api/v1/conversation', 'metrics', 'api/v1/conversation', 'metrics']) bodies.push(await (await fetch(path)).json());
    return bodies;
  });
  print({ called });
  const opened = await page.context().newPage();
  print({ metrics: await (await opened.goto(`${server.address}metrics`)).text() });
  await opened.close();

  await runScript(page);
  const { port } = server;
  await server.close();
  await page.context().setOffline(true);
  await page.goto(`http://127.0.0.1:${port}${BELOW}?from=elsewhere`);
  await page.reload();
  await page.evaluate(() => globalThis.convengine.ready);
  await played(page);
  print({ script: await runScript(page) });

  server = await serveFolder(folder, { below: BELOW, port });
  await page.context().setOffline(false);
  await newBuild();
  await page.reload();
  const reload = page.getByRole('button', { name: 'Reload', exact: true });
  await reload.waitFor();
  print({ offered: (await page.locator('.update p').innerText()).trim(), still: await page.title() });
  await page.reload();
  await reload.waitFor();
  print({ again: await page.title() });
  await Promise.all([page.waitForEvent('load'), reload.click()]);
  await page.waitForFunction(() => document.title === 'Newer');
  await page.evaluate(() => globalThis.convengine.ready);
  await kept();
  print({ then: await page.title(), offers: await reload.count() });
  await server.close();
  await page.context().setOffline(true);
  await page.reload();
  await page.evaluate(() => globalThis.convengine.ready);
  print({ offline: await page.title() });
});
await server.close().catch(() => {});
await rm(folder, { recursive: true, force: true });

/** Opens lazy parts: a dialog and a sample, which plays its conversation. */
async function played(page) {
  await page.getByRole('button', { name: 'Samples', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Samples' });
  await dialog.waitFor();
  await dialog.getByRole('button', { name: /Shop customer service/ }).click();
  const answers = page.locator('article.turn [data-role="assistant"]');
  await answers.filter({ hasText: 'Marlow & Finch' }).first().waitFor();
  print({ reply: (await answers.first().locator('[data-role="reply"], pre').first().textContent()).trim() });
  // A flow document, in the same engine.
  await page.getByRole('button', { name: 'Samples', exact: true }).click();
  await dialog.getByRole('button', { name: /Bank assistant as a flow/ }).click();
  await page.locator('.flow-node.active').waitFor();
  await answers.nth(4).waitFor();
  print({ flow: (await answers.nth(3).locator('[data-role="reply"]').textContent()).trim() });
}

/** Creates another build of the page with another title, like `vite build`. */
async function newBuild() {
  const [index, script] = [join(folder, 'index.html'), join(folder, 'sw.js')];
  const text = (await readFile(index, 'utf8')).replace('<title>ConvEngine</title>', '<title>Newer</title>');
  await writeFile(index, text);
  const sw = await readFile(script, 'utf8');
  const list = /\[\["assets.*?"\]\]/.exec(sw)[0];
  const files = JSON.stringify(JSON.parse(list).map(([path, hash]) => [path, path === 'index.html' ? sha256(text) : hash]));
  await writeFile(script, sw.replace(list, files).replace(sha256(list), sha256(files)));
}

function sha256(text) {
  return createHash('sha256').update(text).digest('base64');
}

function print(line) {
  console.log(JSON.stringify(line));
}

/** Runs a script; the interpreter is fetched by its first use. Returns the reply. */
async function runScript(page) {
  const editor = await blankEditor(page);
  await editor.fill(await readFile(new URL('../../tests/packs/flow/python.json', import.meta.url), 'utf8'));
  await page.locator('.pack-state.applied').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.waitForFunction(() => globalThis.convengine.turns()[0]?.hash);
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('total');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => globalThis.convengine.turns()[1]?.hash);
  return page.evaluate(() => globalThis.convengine.turns()[1].reply);
}

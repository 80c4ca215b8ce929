/**
 * Edits the pack of a folder that `convengine dev` serves, on the page and in its file.
 *
 *   node test/project.mjs BASE_URL FILE [--screenshots FOLDER]
 *
 * Prints what the chat answers before and after the file is saved (`{"replies"}`), whether two edits at once are noticed (`{"conflict"}`),
 * the answer in the file once the text of the page was kept (`{"kept"}`), and what the page says about a text that the server refuses
 * (`{"refused"}`).
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { textEditor, type, withPage } from './chromium.mjs';

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { screenshots: { type: 'string' } } });
const [base, file] = positionals;

/** What the first row of responses answers. */
const answer = async () => JSON.parse(await readFile(file, 'utf8')).tables.ce_response[0].exact_text;

async function save(text) {
  const pack = JSON.parse(await readFile(file, 'utf8'));
  pack.tables.ce_response[0].exact_text = text;
  await writeFile(file, JSON.stringify(pack, null, 1));
}

await withPage(base, { tolerated: /41[23]/ }, async (page) => {
  const bar = page.locator('.project');
  const states = (text) => bar.getByRole('status').filter({ hasText: text }).waitFor();
  const replied = (text) => page.waitForFunction((wanted) => globalThis.convengine.turns().at(-1)?.reply === wanted, text);

  await type(page, 'where is my order?');
  await replied('Your order is on its way.');
  print({ replies: await replies(page) });
  await save('It arrives today.');
  await replied('It arrives today.');
  print({ replies: await replies(page) });
  await picture(page, 'project');

  // An edit of the page is held back, while another program saves the file.
  const editor = await textEditor(page);
  let release;
  const gate = new Promise((resolve) => (release = resolve));
  await page.route('**/dev/files/*', async (route) => {
    if (route.request().method() === 'PUT') await gate;
    await route.continue();
  });
  const held = page.waitForRequest((it) => it.method() === 'PUT');
  await editor.fill((await readFile(file, 'utf8')).replace('It arrives today.', 'From the page.'));
  await held;
  await save('From elsewhere.');
  release();
  await bar.getByRole('button', { name: 'Keep this text' }).waitFor();
  print({ conflict: true });
  await picture(page, 'project-conflict');
  await bar.getByRole('button', { name: 'Keep this text' }).click();
  await states('Saved');
  print({ kept: await answer() });

  await page.route('**/dev/files/*', (route) =>
    route.request().method() === 'PUT' ? route.fulfill({ status: 413, body: 'the text is too large' }) : route.continue(),
  );
  await editor.fill((await readFile(file, 'utf8')).replace('From the page.', 'Refused.'));
  await states('Not saved');
  print({ refused: await bar.getByRole('status').textContent() });
});

function replies(page) {
  return page.evaluate(() => globalThis.convengine.turns().map((it) => it.reply));
}

async function picture(page, name) {
  if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `${name}.png`) });
}

function print(line) {
  console.log(JSON.stringify(line));
}

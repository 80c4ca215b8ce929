/**
 * Runs packs in the built page, in a real Chromium that is offline once the page has loaded.
 *
 *   node test/browser.mjs BASE_URL PACK.json… [--message TEXT] [--screenshot FILE] [--dark] [--size WIDTHxHEIGHT]
 *
 * Prints one JSON line for each pack, `{"pack","hashes"}`, and one for a message typed into the chat, `{"chat"}`.
 * Ends with exit code 1 and a line on standard error when anything fails or the page writes an error to its console.
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { firstLine, type, withPage } from './chromium.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    message: { type: 'string', default: 'Hello' },
    screenshot: { type: 'string' },
    dark: { type: 'boolean', default: false },
    size: { type: 'string', default: '1440x900' },
  },
});
const [base, ...packs] = positionals;

await withPage(base, options, async (page) => {
  const texts = await Promise.all(packs.map(async (file) => [file, await readFile(file, 'utf8')]));
  // The interpreter of scripts is fetched with the first script.
  const script = texts.find(([, text]) => /"type":\s*"python"/.test(text));
  if (script) await played(page, ...script);
  await page.context().setOffline(true);
  for (const [file, text] of texts) {
    const turns = await played(page, file, text);
    console.log(JSON.stringify({ pack: basename(file), hashes: turns.map((it) => it.hash) }));
  }
  await chat(page);
  if (options.screenshot) await page.screenshot({ path: options.screenshot });
});

function played(page, file, text) {
  return page.evaluate((pack) => globalThis.convengine.play(pack), text).catch((error) => {
    throw new Error(`${file} could not be played: ${firstLine(error.message)}`);
  });
}

/** Sends the first message of the chat by keyboard alone. */
async function chat(page) {
  const answers = page.locator('[data-role="assistant"], [data-role="fault"]');
  const before = await answers.count();
  await type(page, options.message);
  const bubble = answers.nth(before);
  await bubble.waitFor().catch(() => {
    throw new Error('no answer appeared in the chat');
  });
  if ((await bubble.getAttribute('data-role')) === 'fault') {
    throw new Error(`the chat answered with a fault: ${await bubble.innerText()}`);
  }
  console.log(JSON.stringify({ chat: (await bubble.locator('[data-role="reply"], pre').first().textContent()).trim() }));
}

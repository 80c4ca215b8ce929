/**
 * Calls extensions in the built page, and drops modules onto it.
 *
 *   node test/extension.mjs BASE_URL calls JOB.json
 *   node test/extension.mjs BASE_URL drop PACK.json MESSAGE PARAMS FILE…
 *
 * `calls` prints one line for each effect of `{"pack", "effects"}`: its completion. `drop` prints the status of each file (`{"status"}`)
 * and the answer of the chat after all of them (`{"chat"}`).
 */
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { blankEditor, type, withPage } from './chromium.mjs';

const [base, what, file, ...more] = process.argv.slice(2);

await withPage(base, {}, what === 'calls' ? calls : drop);

async function calls(page) {
  const { pack, effects } = JSON.parse(await readFile(file, 'utf8'));
  const completions = await page.evaluate((job) => globalThis.convengine.extend(job.pack, job.effects), { pack, effects });
  completions.forEach((it) => console.log(it));
}

async function drop(page) {
  const [message, params, ...modules] = more;
  await (await blankEditor(page)).fill(await readFile(file, 'utf8'));
  const status = page.locator('[data-role="extension"]');
  for (const [index, module] of modules.entries()) {
    const before = await status.innerText();
    // The first by mouse, the others by the file input, as with the keyboard.
    if (index === 0) await dropped(page, module);
    else await page.getByLabel('Add extension').setInputFiles(module);
    await page.waitForFunction((text) => document.querySelector('[data-role="extension"]')?.innerText !== text, before);
    console.log(JSON.stringify({ status: await status.innerText() }));
  }
  await page.locator('.pack-state.applied').waitFor();
  await page.locator('.composer summary').click();
  await page.locator('#params').fill(params);
  await type(page, message);
  const bubble = page.locator('[data-role="assistant"], [data-role="fault"]').first();
  await bubble.waitFor();
  console.log(JSON.stringify({ chat: (await bubble.locator('[data-role="reply"], pre').first().textContent()).trim() }));
}

async function dropped(page, module) {
  const bytes = (await readFile(module)).toString('base64');
  const transfer = await page.evaluateHandle(
    ([name, text]) => {
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob(text), (it) => it.charCodeAt(0));
      data.items.add(new File([bytes], name, { type: 'application/wasm' }));
      return data;
    },
    [basename(module), bytes],
  );
  for (const event of ['dragover', 'drop']) await page.dispatchEvent('body', event, { dataTransfer: transfer });
}

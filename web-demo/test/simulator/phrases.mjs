/** The phrases of a document: the report on them, a mark at a misleading one, and why a message was recognised. */
import { readFile } from 'node:fs/promises';
import { textEditor } from '../chromium.mjs';
import { print, shown, turns } from './common.mjs';
import { open, say } from './nodes.mjs';

/** Reads the report, moves a phrase to another intent, and plays a message that is recognised by its words. */
export async function phrases(page, [file, phrase, moved]) {
  await open(page, file);
  const pack = await readFile(file, 'utf8');
  const view = page.locator('#config').getByRole('button', { name: 'Phrases', exact: true });
  const report = page.locator('.phrase-report');
  await view.click();
  await report.waitFor();
  print({ report: await report.innerText(), marks: await marks(page).count() });

  await replaceText(page, pack.replace(JSON.stringify(phrase), JSON.stringify(moved)));
  await marks(page).waitFor();
  await page.locator('.cm-lintRange').first().waitFor();
  print({ issue: await marks(page).innerText(), mark: await page.locator('.cm-lintRange').first().innerText() });

  await view.click();
  await report.getByRole('list', { name: 'Misleading phrases' }).getByRole('button', { name: `“${moved}”` }).click();
  await page.locator('.cm-activeLine').waitFor();
  print({ selected: await page.locator('.cm-activeLine').innerText() });
  await replaceText(page, pack);
  await marks(page).waitFor({ state: 'detached' });

  await say(page, 2, 'how much money is in my account');
  await page.getByRole('button', { name: /^Why\? \(turn 2\)/ }).click();
  await page.locator('.terms').first().waitFor();
  const intents = page.locator('.entry', { has: page.locator('.terms') }).locator('.considered');
  print({ recognised: (await shown(page))[1].reply, nearest: await intents.count(), best: await intents.first().innerText() });
}

/** The issues of misleading phrases. */
function marks(page) {
  return page.locator('.issues .issue', { hasText: 'misleading-phrase' });
}

async function replaceText(page, text) {
  const editor = await textEditor(page);
  await editor.fill(text);
  await page.locator('.pack-state.applied').waitFor();
  await turns(page, 1);
}

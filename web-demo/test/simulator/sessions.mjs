/** Sharing sessions, and replacing a session while an effect waits for an answer. */
import { readFile } from 'node:fs/promises';
import { blankEditor, textEditor } from '../chromium.mjs';
import { judged, print, shown, turns } from './common.mjs';

/** Plays a pack, changes it, and opens the link to both branches in a new page. */
export async function shared(page, [file, from, to]) {
  const pack = await readFile(file, 'utf8');
  const { turns: all } = JSON.parse(pack);
  const editor = await blankEditor(page);
  await editor.fill(pack);
  await judged(page);
  await page.getByRole('button', { name: 'Play pack' }).click();
  await turns(page, all.length);
  await editor.fill(pack.replaceAll(from, to));
  await page.locator('.branches').waitFor();
  await turns(page, all.length);
  print({ here: await branches(page, all.length) });
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const link = await page.getByRole('textbox', { name: 'Link', exact: true }).inputValue();
  const other = await page.context().newPage();
  await other.goto(link);
  await other.locator('.branches summary', { hasText: 'of 2' }).waitFor();
  await turns(other, all.length);
  print({ there: await branches(other, all.length) });
  print({ remarks: await other.locator('.chat .notice').allInnerTexts() });
}

/** The hashes of both branches. */
async function branches(page, count) {
  const found = [];
  for (const name of ['Branch 1', 'Branch 2']) {
    await page.locator('.branches').evaluate((it) => (it.open = true));
    await page.locator('.branches button', { hasText: name }).click();
    await turns(page, count);
    found.push((await shown(page)).map((it) => it.hash));
  }
  return found;
}

/** Lets a turn wait for a manual answer, edits the pack, and opens a sample. */
export async function waiting(page) {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.locator('.answer-panel summary').click();
  await page.getByRole('radio', { name: /^Manual/ }).check();
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('I need a loan for a boat');
  await page.keyboard.press('Enter');
  await page.locator('.ask').waitFor();
  const rule = { rule_id: 1, rule_type: 'REGEX', match_pattern: '(', action: 'SET_STATE', action_value: 'A' };
  await (await textEditor(page)).fill(JSON.stringify({ name: 'broken', tables: { ce_rule: [rule] } }));
  await page.locator('#config .issue.error').first().waitFor();
  print({ linted: await page.locator('.ask').count() });
  await page.getByRole('button', { name: 'Samples', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: /^Shop customer service/ }).click();
  await page.waitForFunction(() => globalThis.convengine.turns()[0]?.hash);
  await page.getByRole('button', { name: 'Play pack', disabled: false }).waitFor();
  print({ sample: await shown(page) });
  print({ asking: await page.locator('.ask').count() });
}

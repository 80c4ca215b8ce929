/** Knowledge, python and handoff nodes: what they show, and the desk's side of a handoff. */
import { readFile } from 'node:fs/promises';
import { blankEditor } from '../chromium.mjs';
import { print, shown, turns } from './common.mjs';

/** Asks a knowledge base, tests its retrieval and edits its sources. */
export async function knowledge(page, [file]) {
  await open(page, file);
  await say(page, 2, 'a question: how long do parcels take to the islands');
  print({ answer: (await shown(page))[1].reply, cited: await page.locator('.flow-citations').innerText() });
  await page.getByRole('treegrid').getByRole('row', { name: /Knowledge search/ }).first().click();
  await page.getByRole('tab', { name: 'Details' }).click();
  const details = page.locator('#inspector .search-result');
  await details.waitFor();
  print({ search: await details.innerText(), step: await page.locator('#inspector .area-head').innerText() });
  await page.locator('#config').getByRole('button', { name: 'Knowledge', exact: true }).click();
  await page.locator('.source-name').first().waitFor();
  print({ sources: await page.locator('.source-name').allInnerTexts() });
  await retrieve(page, 'lost gift card');
  print({ found: await page.locator('.retrieval tbody tr').allInnerTexts() });
  await page.getByRole('button', { name: 'Add a text' }).click();
  await page.getByLabel('Title', { exact: true }).fill('Shop times');
  await page.getByLabel('Id', { exact: true }).fill('times');
  await page.getByLabel('Text', { exact: true }).fill('The shop opens at nine.');
  await page.getByRole('button', { name: 'Save source' }).click();
  await page.locator('.source-list li', { hasText: 'Shop times' }).waitFor();
  await page.locator('.pack-state.applied').waitFor();
  await retrieve(page, 'the shop opens at nine');
  print({ added: await page.locator('.retrieval tbody tr').first().innerText() });
  await page.locator('.sources input[type="file"]').setInputFiles({ name: 'Gift wrap.md', mimeType: 'text/markdown', buffer: Buffer.from('# Ribbons\n\nRibbons cost one euro.') });
  await page.locator('.source-list li', { hasText: 'Gift wrap' }).waitFor();
  await retrieve(page, 'ribbons');
  print({ dropped: await page.locator('.retrieval tbody tr').first().innerText() });
  await page.getByRole('button', { name: 'Remove Shop times' }).click();
  await page.locator('.source-list li', { hasText: 'Shop times' }).waitFor({ state: 'detached' });
}

async function retrieve(page, query) {
  await page.locator('.retrieval').getByLabel('Query', { exact: true }).fill(query);
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.locator('.retrieval .search-result q', { hasText: query }).waitFor();
}

/** Plays the desk of a handoff that returns, and lets another one time out. */
export async function desk(page, [file]) {
  await open(page, file);
  await say(page, 2, 'a human');
  const panel = page.getByRole('region', { name: 'Desk' });
  await panel.waitFor();
  print({ facts: await panel.locator('.desk-facts').innerText() });
  await panel.getByLabel('Author').fill('Noor');
  await panel.getByRole('button', { name: 'Accept' }).click();
  await turns(page, 3);
  await panel.getByLabel('Message of the desk').fill('Noor here. <b>Hello</b>');
  await panel.getByRole('button', { name: 'Send as Noor' }).click();
  await turns(page, 4);
  print({ person: await turn(page, 4).locator('.bubble.human').innerText() });
  await say(page, 5, 'thank you');
  print({ relayed: await turn(page, 5).locator('.flow-note').innerText() });
  await panel.getByRole('button', { name: 'Add variable' }).click();
  await panel.getByLabel('Variable', { exact: true }).selectOption('solution');
  await panel.getByLabel(/^Value of solution/).fill('Your key works again.');
  await panel.getByRole('button', { name: 'Return to the assistant' }).click();
  await turns(page, 6);
  print({ returned: await shown(page), panels: await panel.count() });
  await say(page, 7, 'a human');
  await page.getByText('Timers and session end').click();
  await page.getByRole('button', { name: /^Handoff timeout/ }).click();
  await turns(page, 8);
  print({ late: (await shown(page))[7] });
}

/** Runs a script, edits its code, and shows the line at which it fails. */
export async function scripts(page, [file]) {
  await open(page, file);
  await say(page, 2, 'total');
  await page.getByRole('treegrid').getByRole('row', { name: /Script/ }).first().click();
  await page.getByRole('tab', { name: 'Details' }).click();
  const details = page.locator('#inspector .script-result');
  await details.waitFor();
  print({ run: await details.innerText(), reply: (await shown(page))[1].reply });
  await say(page, 3, 'raise');
  await page.getByRole('treegrid').getByRole('row', { name: /Script.*failed/ }).first().click();
  print({ failure: await details.locator('.fault-text').innerText(), reply: (await shown(page))[2].reply });
  await details.getByRole('button', { name: 'Show line 2' }).click();
  const code = page.getByRole('textbox', { name: 'Code' });
  await code.waitFor();
  await page.waitForFunction(() => document.activeElement?.matches('.code-field textarea'));
  print({ line: await code.evaluate((it) => it.value.slice(it.selectionStart, it.selectionEnd)) });
  print({ form: await page.locator('.node-form > label').allInnerTexts() });
  await code.fill("session['kept'] = 1\nmessage = 'mended'\n");
  await page.locator('.flow-panel').getByRole('button', { name: 'Apply', exact: true }).click();
  await page.waitForFunction(() => globalThis.convengine.turns()[2]?.reply?.includes('mended'));
  await turns(page, 3);
  print({ mended: (await shown(page))[2].reply });
  await code.fill('x = (');
  await page.locator('.flow-panel').getByRole('button', { name: 'Apply', exact: true }).click();
  await page.locator('.flow-panel .flow-issues li', { hasText: 'P001' }).first().waitFor();
  print({ issues: await page.locator('.flow-panel .flow-issues li').allInnerTexts() });
}

/** Opens a pack from a file and begins its session. */
export async function open(page, file) {
  const editor = await blankEditor(page);
  await editor.fill(await readFile(file, 'utf8'));
  await page.locator('.pack-state.applied').waitFor();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await turns(page, 1);
}

export async function say(page, count, message) {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(message);
  await page.keyboard.press('Enter');
  await turns(page, count);
}

function turn(page, number) {
  return page.getByRole('article', { name: `Turn ${number}`, exact: true });
}

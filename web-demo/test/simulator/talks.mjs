/** Exports conversations as talks and opens them again: pasted, chosen, and dropped with their pack. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { print, sample, shown, turns } from './common.mjs';

const SAMPLES = [/^Loan with confirmation/, /^Shop customer service/, /^Confirmation that expires/, /^Two services, one overloaded/, /^Bank assistant as a flow/, /^Insurance claim as a run/];

export async function talks(page) {
  for (const title of SAMPLES) {
    await sample(page, title);
    const talk = await exported(page);
    const before = await shown(page);
    await openDialog(page, 'Import');
    await page.getByLabel('Text of a talk, pack or session').fill(talk);
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    const verdict = await opened(page);
    print({ pasted: { verdict, equal: sameReplies(before, await shown(page)) } });
  }

  await sample(page, /^Loan with confirmation/);
  const folder = await mkdtemp(join(tmpdir(), 'convengine-talks-'));
  const files = await saved(page, folder);
  await sample(page, /^Shop customer service/);
  await openDialog(page, 'Import');
  await page.locator('dialog input[type="file"]').setInputFiles(files);
  const talk = await readFile(files.find((it) => it.endsWith('.talk')), 'utf8');
  print({ chosen: await opened(page), talk, hashes: (await shown(page)).map((it) => it.hash) });
  await rm(folder, { recursive: true });

  await drop(page, { 'loan.talk': talk.replace('customer 4471', 'customer 9999') });
  await page.locator('[data-role="extension"]').getByText('not meet the checks').waitFor();
  print({ dropped: await page.locator('[data-role="extension"]').innerText() });

  await openDialog(page, 'Import');
  await page.getByLabel('Text of a talk, pack or session').fill('config loan.json\n> Hello\nWelcome');
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  const alert = page.getByRole('dialog').getByRole('alert');
  await alert.filter({ hasText: 'line 3' }).waitFor();
  print({ refused: await alert.innerText() });
}

/** The text of the shown branch as a talk. */
async function exported(page) {
  await openDialog(page, 'Export test');
  const text = await page.getByRole('group', { name: 'Talk' }).innerText();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  return text;
}

/** Saves the talk and its pack in a folder; returns their paths. */
async function saved(page, folder) {
  await openDialog(page, 'Export test');
  const downloads = new Promise((resolve) => {
    const begun = [];
    page.on('download', (it) => begun.push(it) === 2 && resolve(begun));
  });
  await page.getByRole('button', { name: /^Save .*talk/ }).click();
  const paths = (await downloads).map(async (it) => {
    const path = join(folder, it.suggestedFilename());
    await it.saveAs(path);
    return path;
  });
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  return Promise.all(paths);
}

async function openDialog(page, name) {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('dialog').waitFor();
}

/** The verdict about an import, after its dialog was closed. */
async function opened(page) {
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'View conversation' }).waitFor();
  const verdict = await dialog.locator('[role="status"] p').first().innerText();
  await dialog.getByRole('button', { name: 'View conversation' }).click();
  await dialog.waitFor({ state: 'detached' });
  return verdict;
}

function sameReplies(before, after) {
  return before.length === after.length && before.every((it, index) => it.reply === after[index].reply && it.state === after[index].state);
}

/** Drops files on the page. */
async function drop(page, files) {
  await page.evaluate((all) => {
    const dataTransfer = new DataTransfer();
    for (const [name, text] of Object.entries(all)) dataTransfer.items.add(new File([text], name));
    document.querySelector('main').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, files);
}

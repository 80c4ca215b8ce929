/** Editing configuration rows in the table and in the text. */
import { readFile } from 'node:fs/promises';
import { blankEditor, textEditor } from '../chromium.mjs';
import { judged, print, sample, shown, turns } from './common.mjs';

const TABLE = 'ce_rule';
const COLUMN = 'match_pattern';

/** Breaks and fixes a pattern in its cell and in the text, key by key. */
export async function broken(page, [row, found, keys]) {
  await sample(page, /^Shop customer service/);
  const cell = await cellOf(page, TABLE, COLUMN, (it) => it.getByRole('rowheader', { name: new RegExp(`^${row}\\b`) }));
  await cell.click();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  for (const key of keys) {
    await page.keyboard.press(key);
    await judged(page);
    print({ cell: { ...(await cell.evaluate(cellAsSeen)), issues: await issues(page) } });
  }
  await page.keyboard.press('Enter');
  await (await textEditor(page)).focus();
  await page.keyboard.press('Control+f');
  await page.keyboard.type(found);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowRight');
  for (const key of keys) {
    await page.keyboard.press(key);
    await judged(page);
    // The gutter is drawn with the next frame.
    await page.locator('.editor-host .cm-lineNumbers .cm-activeLineGutter').waitFor();
    print({ text: { ...(await page.locator('.editor-host').evaluate(textAsSeen)), issues: await issues(page) } });
  }
}

/** Plays a pack, changes a text in a cell of its tables, and waits for the replay. */
export async function row(page, [file, table, column, from, to]) {
  const pack = await readFile(file, 'utf8');
  const { turns: all } = JSON.parse(pack);
  await (await blankEditor(page)).fill(pack);
  await judged(page);
  await page.getByRole('button', { name: 'Play pack' }).click();
  await turns(page, all.length);
  const before = await hashes(page);
  print({ hashes: before });
  const cell = await cellOf(page, table, column, (it) => it.getByRole('gridcell', { name: from }));
  const text = await cell.locator('.cell-text').innerText();
  await cell.click();
  await page.keyboard.press('F2');
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text.replaceAll(from, to));
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    ([old, count]) => {
      const path = globalThis.convengine.turns();
      return path.length === count && path.every((it) => it.hash !== '') && path.some((it, index) => it.hash !== old[index]);
    },
    [before, all.length],
  );
  print({ hashes: await hashes(page) });
}

/** A cell of the row that contains a locator. */
async function cellOf(page, table, column, within) {
  const config = page.locator('#config');
  await config.getByRole('button', { name: 'Table', exact: true }).click();
  await config.getByRole('navigation', { name: 'Tables' }).locator(`button[title="${table}"]`).click();
  const grid = config.getByRole('grid', { name: `Rows of ${table}` });
  await grid.waitFor();
  const at = (await grid.getByRole('columnheader').allInnerTexts()).indexOf(column);
  const here = grid.getByRole('row').filter({ has: within(page) });
  // The row header is the first cell, but not a `gridcell`.
  return here.getByRole('gridcell').nth(at - 1);
}

/** The visible state of a cell while it is edited. */
function cellAsSeen(cell) {
  const field = cell.querySelector('textarea');
  return {
    typing: field !== null && document.activeElement === field,
    value: field?.value,
    invalid: field?.getAttribute('aria-invalid') === 'true',
    found: cell.querySelector('.cell-issue')?.innerText ?? '',
  };
}

/** The visible state of the text editor: its marks and the cursor line. */
function textAsSeen(host) {
  const root = host.shadowRoot;
  const line = (it) => it?.closest('.cm-line')?.textContent ?? '';
  const numbers = [...root.querySelectorAll('.cm-lineNumbers .cm-gutterElement')];
  const topOf = (it) => Math.round(it.getBoundingClientRect().top);
  const beside = (mark) => numbers.find((it) => topOf(it) === topOf(mark) && it.textContent.trim())?.textContent;
  return {
    typing: root.activeElement?.classList.contains('cm-content') ?? false,
    marked: [...root.querySelectorAll('.cm-lintRange-error')].map(line),
    gutter: [...root.querySelectorAll('.cm-gutter-lint .cm-gutterElement:has(.cm-lint-marker-error)')].map(beside),
    cursor: root.querySelector('.cm-lineNumbers .cm-activeLineGutter')?.textContent,
  };
}

/** The listed errors. */
function issues(page) {
  return page.getByRole('region', { name: 'Issues' }).locator('.issue.error').allInnerTexts();
}

async function hashes(page) {
  return (await shown(page)).map((it) => it.hash);
}

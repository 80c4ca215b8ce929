/** The tutorial `docs/start/first-page.md`, step by step. */
import { judged, print, shown, turns } from './common.mjs';

/** Explains a turn, changes the rule as the page says, and goes on from turns; `pattern` is what the page writes into the rule. */
export async function tutorial(page, [pattern]) {
  await turns(page, 5);
  print({ recorded: await shown(page) });
  print({ matched: await why(page, 3) });

  await page.getByRole('button', { name: 'Edit the confirmation rule' }).click();
  const grid = page.getByRole('grid', { name: 'Rows of ce_rule' });
  await grid.waitFor();
  const columns = await grid.getByRole('columnheader').allInnerTexts();
  const row = grid.getByRole('row').nth(1);
  const cells = await row.locator('[role="rowheader"], [role="gridcell"]').allInnerTexts();
  print({ rule: Object.fromEntries(columns.map((name, at) => [name, cells[at]])) });

  const cell = row.getByRole('gridcell').nth(columns.indexOf('match_pattern') - 1);
  await cell.click();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(pattern);
  await page.locator('.branches summary', { hasText: 'of 2' }).waitFor();
  await judged(page);
  await turns(page, 5);
  await page.keyboard.press('Enter');
  print({ changed: await shown(page) });
  print({ branches: await page.locator('.branches').evaluate((it) => ((it.open = true), it.innerText)) });
  print({ issues: await page.locator('#config .issue').allInnerTexts() });
  print({ unmatched: await why(page, 3) });

  await page.locator('#inspector').getByRole('button', { name: 'ce_rule 1', exact: true }).first().click();
  await page.getByRole('button', { name: 'Why not this row?' }).click();
  await page.locator('#config [role="region"]').first().waitFor();
  print({ row: await page.locator('#config').innerText() });

  await page.locator('.pack-menu summary').click();
  await page.getByRole('button', { name: 'Revert all changes' }).click();
  await judged(page);
  await chooseFirstBranch(page);
  await page.locator('article.turn').nth(4).getByRole('button', { name: /^Edit and branch/ }).click();
  await page.getByLabel('New message for turn 5').fill('no');
  await page.keyboard.press('Enter');
  await page.locator('.branches summary', { hasText: 'of 3' }).waitFor();
  await turns(page, 5);
  print({ refused: await shown(page) });
  await chooseFirstBranch(page);
  await page.getByRole('button', { name: 'Time out the application service' }).click();
  await page.locator('.branches summary', { hasText: 'of 4' }).waitFor();
  await turns(page, 5);
  print({ timedOut: await shown(page) });
  for (const name of ['Share', 'Export test']) {
    await page.getByRole('button', { name, exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    print({ dialog: await dialog.innerText() });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
}

async function chooseFirstBranch(page) {
  await page.locator('.branches').evaluate((it) => (it.open = true));
  await page.locator('.branches').getByRole('button', { name: /^Branch 1/ }).click();
  await turns(page, 5);
}

/** What the inspector says about a turn. */
async function why(page, turn) {
  await page.getByRole('button', { name: new RegExp(`^Why\\? \\(turn ${turn}\\)`) }).click();
  await page.getByRole('tab', { name: 'Why', selected: true }).waitFor();
  return page.locator('#inspector').innerText();
}

/** The replies when effects fail. */
import { print, sample, shown, turns } from './common.mjs';

/** Fails each effect of some turns of the loan, then one from the menu of its row. */
export async function failures(page, [numbers, effect, fault]) {
  await page.context().setOffline(true);
  await sample(page, /^Loan with confirmation/);
  for (const number of numbers.split(',')) {
    await look(page, number);
    await act(page, `Turn ${number}`, 'Fail each effect…');
    const dialog = page.getByRole('dialog', { name: `Turn ${number}, each effect timed out` });
    await dialog.getByText(/each kept as a branch$/).waitFor();
    print({ rows: await dialog.getByRole('table').evaluate(rows) });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    print({ back: await page.getByRole('row').and(page.locator(':focus')).locator('.word').innerText() });
  }
  const last = numbers.split(',').at(-1);
  await look(page, last);
  const before = await shown(page);
  await act(page, effect, 'Fail with…');
  await page.getByRole('menuitem', { name: fault, exact: true }).click();
  await page.getByText(/^↳ Branch:/).waitFor();
  await turns(page, before.length);
  const card = page.getByRole('article', { name: `Turn ${last}` });
  print({
    before,
    branched: await shown(page),
    reason: await card.locator('.fork').innerText(),
    read: await card.locator('[data-role="reply"]').innerText(),
    failed: await page.getByRole('treegrid').locator('.row.failed .word, .row.failed .name').allInnerTexts(),
  });
}

/** Selects the end of a turn, so that its rows are visible. */
async function look(page, number) {
  await page.getByRole('article', { name: `Turn ${number}` }).getByRole('button', { name: `Turn ${number}`, exact: true }).click();
}

async function act(page, row, action) {
  await page.getByRole('treegrid').getByRole('button', { name: `Actions for ${row}`, exact: true }).click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}

/** The rows of a table, by column heading. */
function rows(table) {
  const heads = [...table.tHead.rows[0].cells].map((it) => it.innerText);
  return [...table.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((it, index) => [heads[index], it.innerText])));
}

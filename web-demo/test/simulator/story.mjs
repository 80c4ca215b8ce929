/** What the chat and the timeline say about conversations and cancelled turns. */
import { print, shown, turns } from './common.mjs';

/** The first view, both conversations of the pack, and a message after a cancelled turn. */
export async function story(page) {
  await turns(page, 5);
  const config = page.locator('#config');
  print({
    opened: await shown(page),
    view: await config.getByRole('group', { name: 'Pack view' }).locator('[aria-pressed="true"]').innerText(),
    rows: await config.getByRole('grid').getByRole('row').count(),
    timeline: await page.getByRole('treegrid').getByRole('row').count(),
    headings: await headings(page),
  });

  await page.getByRole('button', { name: 'Play pack' }).click();
  await turns(page, 9);
  print({ played: await headings(page), changes: await changes(page) });

  await page.locator('.answer-panel summary').click();
  await page.getByRole('radio', { name: /^Manual/ }).check();
  await send(page, 'What is this?');
  await page.getByRole('button', { name: 'Cancel turn' }).click();
  await turns(page, 10);
  await page.locator('.answer-panel summary').click();
  await page.getByRole('radio', { name: /^Automatic/ }).check();
  await send(page, 'Set the term to 36');
  await turns(page, 11);
  print({ cancelled: (await shown(page))[9].fault, after: (await shown(page))[10].state, later: await changes(page) });
}

async function send(page, message) {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(message);
  await page.keyboard.press('Enter');
}

function headings(page) {
  return page.locator('.log .conversation').allInnerTexts();
}

/** The changes of intent and state in the timeline, of which only visible rows exist. */
async function changes(page) {
  await page.getByRole('treegrid').hover();
  const found = new Map();
  const grid = page.getByRole('treegrid');
  const element = await grid.elementHandle();
  const height = await grid.evaluate((it) => it.scrollHeight);
  for (let top = 0; top < height; top += 200) {
    await grid.evaluate((it, at) => (it.scrollTop = at), top);
    await page.waitForFunction(hasVisibleRows, element);
    const rows = await grid.locator('.kind-change').evaluateAll((all) => all.map((it) => [it.getAttribute('aria-rowindex'), it.innerText.replaceAll(/\s+/g, ' ').trim()]));
    for (const [index, text] of rows) found.set(Number(index), text);
  }
  return [...found].sort((a, b) => a[0] - b[0]).map(([, text]) => text);
}

/** Runs in the page: whether every row that is visible at the position of the timeline exists. */
function hasVisibleRows(grid) {
  const height = grid.querySelector('[role="row"]').offsetHeight;
  const last = Math.min(Number(grid.getAttribute('aria-rowcount')), Math.ceil((grid.scrollTop + grid.clientHeight) / height));
  for (let index = Math.floor(grid.scrollTop / height) + 1; index <= last; index++) {
    if (!grid.querySelector(`[aria-rowindex="${index}"]`)) return false;
  }
  return true;
}

/** The first minute by keyboard alone. */
import { print, shown, turns } from './common.mjs';

/** An element that takes more Tab presses counts as unreachable. */
const MOST_TABS = 20;
const AREAS = ['chat', 'timeline', 'inspector', 'config'];

export async function keyboard(page) {
  const { keyboard } = page;
  await keyboard.press('F6');
  await keyboard.type('Hello');
  await keyboard.press('Enter');
  await turns(page, 6);
  print({ first: (await shown(page))[5] });

  await command(page, 'loan');
  await turns(page, 5);
  print({ loan: await shown(page) });

  await stepsLoaded(page);
  print({ afterCommand: await focused(page) });

  await keyboard.press('F6');
  const slider = page.getByRole('slider', { name: 'Position in the conversation' });
  const places = [];
  for (const key of ['', '[', '[', ']', ']']) {
    if (key) await keyboard.press(key);
    places.push(await slider.getAttribute('aria-valuetext'));
  }
  print({ places });

  print({ areas: await around(page, 'F6'), back: await around(page, 'Shift+F6') });
  print({ editor: await throughEditor(page) });

  await tabTo(page, 'button', 'Edit and branch turn 4', 'Shift+Tab');
  await keyboard.press('Enter');
  await keyboard.type('no');
  await keyboard.press('Enter');
  await turns(page, 4);
  print({ branched: await shown(page), afterBranch: await focused(page) });

  await stepsLoaded(page);
  await command(page, 'Why');
  await page.getByRole('tab', { name: 'Why', selected: true }).waitFor();
  print({ why: await page.getByRole('tabpanel').innerText(), whyIn: await areaOfFocus(page) });

  await keyboard.press('F6');
  const before = await focused(page);
  await command(page, 'Share');
  const dialog = page.getByRole('dialog', { name: 'Share this session' });
  await dialog.waitFor();
  const inside = await dialog.evaluate((it) => it.contains(document.activeElement));
  await keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  print({ share: { before, inside, after: await focused(page) } });
}

/** Waits until the steps of all turns are loaded. */
async function stepsLoaded(page) {
  await page.waitForFunction(() => globalThis.convengine.turns().every((it) => it.stateHash !== ''));
}

/** Finds a command by some words and runs it. */
async function command(page, words) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find a command' }).and(page.locator(':focus')).waitFor();
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
}

/** Cycles through the areas; returns where the focus was after each key. */
async function around(page, key) {
  const seen = [];
  for (let count = 0; count <= AREAS.length; count++) {
    await page.keyboard.press(key);
    seen.push(await areaOfFocus(page));
  }
  return seen;
}

/** Enters the pack editor, in which Tab indents unless Escape is pressed first. */
async function throughEditor(page) {
  while ((await areaOfFocus(page)) !== 'config') await page.keyboard.press('F6');
  await tabTo(page, 'button', 'Text');
  await page.keyboard.press('Enter');
  await tabTo(page, 'textbox', 'Pack as JSON text');
  const hint = await page.locator('.editor-hint').innerText();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  const left = await focused(page);
  await page.keyboard.press('Shift+Tab');
  const back = await focused(page);
  await page.keyboard.press('F6');
  return { hint, left, back, area: await areaOfFocus(page) };
}

/** Presses Tab, or Tab backwards, until something has the focus. */
async function tabTo(page, role, name, key = 'Tab') {
  const wanted = page.getByRole(role, { name }).and(page.locator(':focus'));
  for (let count = 0; count < MOST_TABS; count++) {
    if ((await wanted.count()) > 0) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${MOST_TABS} times ${key} do not lead to “${name}”`);
}

/** The focused element as a screen reader presents it. */
function focused(page) {
  return page.locator(':focus').last().ariaSnapshot();
}

function areaOfFocus(page) {
  return page.evaluate(() => document.activeElement?.closest('section.area')?.id ?? document.activeElement?.tagName);
}

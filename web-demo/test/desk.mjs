/**
 * Uses the desk by keyboard alone, in a real Chromium, and checks its screens with axe.
 *
 *   node test/desk.mjs BASE_URL [--size 390x844] [--screenshots FOLDER]
 *
 * Expects at least two waiting conversations, of which the first contains hostile HTML. Reads lines from standard input: whenever it has
 * printed `{"ready": NAME}`, it goes on after one. Prints a JSON line for each observation.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { firstLine, launch, openContext } from './chromium.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { size: { type: 'string', default: '1280x800' }, screenshots: { type: 'string' } },
});
const base = positionals[0].replace(/\/+$/, '');
const [width, height] = options.size.split('x').map(Number);
const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const print = (it) => console.log(JSON.stringify(it));
const browser = await launch();

try {
  const context = await openContext(browser, { viewport: { width, height }, serviceWorkers: 'block' });
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (it) => complaints.push(it.message));
  page.on('dialog', (it) => complaints.push(`a dialog: ${it.message()}`) && it.dismiss());
  page.on('console', (it) => it.type() === 'error' && !/status of 409|ERR_/.test(it.text()) && complaints.push(it.text()));
  await page.goto(`${base}/desk`);
  await check(page, 'sign in');
  await page.getByRole('textbox', { name: 'Your name' }).waitFor();
  await tabTo(page, 'Your name');
  await page.keyboard.type('Mia');
  await page.keyboard.press('Enter');
  await page.getByText('Live', { exact: true }).waitFor();
  await check(page, 'list');

  await page.keyboard.press('Alt+ArrowDown');
  await page.getByRole('region', { name: 'Transcript' }).waitFor();
  print({ focus: await focused(page) });
  print({ transcript: await transcript(page) });
  await check(page, 'conversation');
  await page.keyboard.press('Alt+t');
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  await page.waitForFunction(() => document.activeElement?.id === 'desk-message');
  print({ focus: await focused(page) });
  await page.keyboard.type('Hello from the desk.');
  await page.keyboard.press('Enter');
  await page.locator('.desk-entry.human', { hasText: 'Hello from the desk.' }).waitFor();
  await ready('answered');
  await page.locator('.desk-entry.user').last().filter({ hasText: 'thank you' }).waitFor();
  await page.getByText('New message: thank you').waitFor({ state: 'attached' });

  await page.keyboard.press('Alt+r');
  await page.getByRole('heading', { name: 'Return to the assistant' }).waitFor();
  await tabTo(page, 'refund number');
  await page.keyboard.type('12');
  await check(page, 'return');
  await page.keyboard.press('Enter');
  await page.locator('.desk-conversation').waitFor({ state: 'detached' });
  print({ focus: await focused(page) });

  // A colleague takes the conversation that is open here.
  await page.keyboard.press('Alt+ArrowDown');
  await page.getByRole('button', { name: 'Take' }).waitFor();
  await page.route('**/v1/desk/events', (it) => it.abort());
  await context.setOffline(true);
  await page.getByText('Connection lost. Reconnecting…').first().waitFor();
  await ready('disconnected');
  await context.setOffline(false);
  await page.keyboard.press('Alt+t');
  await page.getByRole('alert').filter({ hasText: 'Tom was faster' }).waitFor();
  await check(page, 'taken');
  await page.unroute('**/v1/desk/events');
  await page.getByText('Live', { exact: true }).waitFor();
  print({ complaints });
} catch (error) {
  console.error(`browser test failed: ${firstLine(error instanceof Error ? error.message : String(error))}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}
process.exit();

async function ready(name) {
  print({ ready: name });
  await lines.next();
}

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page, name) {
  for (let count = 0; count < 40; count += 1) {
    if ((await focused(page)).endsWith(`"${name}"`)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** The element that has the focus: its tag and its accessible name. */
function focused(page) {
  return page.evaluate(() => {
    const found = document.activeElement;
    const name = found?.labels?.[0]?.textContent ?? found?.textContent ?? '';
    return `${found?.tagName.toLowerCase()} "${name.replace(/\s+/g, ' ').trim()}"`;
  });
}

function transcript(page) {
  return page.locator('.desk-entry p').allTextContents();
}

async function check(page, screen) {
  // Evaluated through the debugger, to which the page's content policy does not apply.
  await page.evaluate(axe);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate(() =>
      globalThis.axe.run({
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        resultTypes: ['violations'],
      }),
    );
    const found = violations.map(({ id, nodes }) => ({ id, nodes: nodes.map((it) => it.target.join(' ')) }));
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    print({ screen, look: colorScheme, violations: found, overflow });
    if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `desk-${screen}-${options.size}-${colorScheme}.png`.replaceAll(' ', '-')) });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** A real Chromium with the built page in it, for the browser tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const EXECUTABLE = process.env.CHROMIUM || '/usr/bin/chromium';
/** What a page may take for anything that a test waits for, beside others on a slow machine. How fast the page is, benchmarks say. */
export const WITHIN_MS = 180_000;

/** Starts a Chromium with a temporary profile. */
export function launch() {
  return chromium.launch({ executablePath: EXECUTABLE, args: FLAGS, headless: true });
}

/** Opens a context of a started Chromium. */
export async function openContext(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(WITHIN_MS);
  return context;
}

/**
 * Opens the page, waits for its engine and calls `run`; `before` can prepare the page before it is opened. With `keep` service workers are
 * allowed, so that the page is cached for offline use. `tolerated` matches the errors that a test provokes.
 *
 * Ends with exit code 1 and a line on standard error when anything fails or the page writes an error to its console.
 */
export async function withPage(base, { size = '1440x900', dark = false, keep = false, tolerated = /^$/, before = async () => {} }, run) {
  const profile = await mkdtemp(join(tmpdir(), 'convengine-page-'));
  let context;
  try {
    if (!base) throw new Error('name the address of the page as the first argument');
    const [width, height] = size.split('x').map(Number);
    context = await chromium.launchPersistentContext(profile, {
      executablePath: EXECUTABLE,
      args: FLAGS,
      headless: true,
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      serviceWorkers: keep ? 'allow' : 'block',
    });
    context.setDefaultTimeout(WITHIN_MS);
    const page = context.pages()[0] ?? (await context.newPage());
    const complaints = [];
    const complain = (text) => tolerated.test(text) || complaints.push(text);
    page.on('console', (it) => it.type() === 'error' && complain(it.text()));
    page.on('pageerror', (it) => complain(it.message));
    // Requests that the page aborted have not failed.
    page.on('requestfailed', (it) => it.failure()?.errorText !== 'net::ERR_ABORTED' && complain(`${it.url()} could not be fetched: ${it.failure()?.errorText}`));
    await before(page);
    const response = await page.goto(base, { waitUntil: 'load' });
    if (!response?.ok()) throw new Error(`${base} answered with status ${response?.status()}`);
    await within(WITHIN_MS, 'the first session', page.evaluate(() => globalThis.convengine.complete));
    await run(page);
    if (complaints.length > 0) throw new Error(`the page complained: ${complaints.join('; ')}`);
  } catch (error) {
    console.error(`browser test failed: ${firstLine(error instanceof Error ? error.message : String(error))}`);
    process.exitCode = 1;
  } finally {
    await context?.close();
    await rm(profile, { recursive: true, force: true });
  }
}

/** Opens a new pack without turns; returns its text editor. */
export async function blankEditor(page) {
  await page.locator('.pack-menu summary').click();
  await page.getByRole('button', { name: 'New pack', exact: true }).click();
  await page.locator('.about', { hasText: 'new pack' }).waitFor({ state: 'attached' });
  // The pack before it may have been a flow.
  await page.locator('#config').getByRole('button', { name: 'Table', exact: true }).waitFor();
  return textEditor(page);
}

/** Shows the pack as text; returns its editor. */
export async function textEditor(page) {
  await page.locator('#config').getByRole('button', { name: 'Text', exact: true }).click();
  return page.getByRole('textbox', { name: 'Pack as JSON text' });
}

/** Waits until the browser has stored the session as it is shown, which takes a second after its last change. */
export function waitUntilStored(page) {
  return page.waitForFunction(
    async () => {
      // Opening it would create it.
      if (!(await indexedDB.databases()).some((it) => it.name === 'convengine')) return false;
      const database = await new Promise((resolve) => (indexedDB.open('convengine').onsuccess = ({ target }) => resolve(target.result)));
      const request = database.transaction('sessions').objectStore('sessions').get('latest');
      const session = await new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
      database.close();
      return Boolean(session?.end) && globalThis.convengine.turns().at(-1).hash.startsWith(session.end);
    },
    undefined,
    { polling: 100 },
  );
}

/** Types a message and sends it by keyboard alone. */
export async function type(page, message) {
  await page.getByRole('textbox', { name: 'Message', exact: true }).focus();
  await page.keyboard.type(message);
  await page.keyboard.press('Enter');
}

/** Removes the stack from a browser message. */
export function firstLine(text) {
  return text.split('\n', 1)[0].replace(/^page\.evaluate: /, '');
}

async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${milliseconds} ms for ${what}`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

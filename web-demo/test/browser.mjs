/**
 * Plays packs in the built page, in a real Chromium that is offline once the page has loaded.
 *
 *   node test/browser.mjs BASE_URL PACK.json… [--message TEXT] [--screenshot FILE] [--dark] [--size WIDTHxHEIGHT]
 *
 * Prints one JSON line for each pack, `{"pack","hashes"}`, and one for a message typed into the chat, `{"chat"}`.
 * Ends with exit code 1 and a line on standard error when anything fails or the page writes an error to its console.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
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
const LOADED_WITHIN_MS = 30_000;
const ANSWERED_WITHIN_MS = 15_000;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    message: { type: 'string', default: 'Hello' },
    screenshot: { type: 'string' },
    dark: { type: 'boolean', default: false },
    size: { type: 'string', default: '1440x900' },
  },
});
const [base, ...packs] = positionals;

const profile = await mkdtemp(join(tmpdir(), 'convengine-page-'));
let context;
try {
  if (!base) throw new Error('name the address of the page: node test/browser.mjs BASE_URL PACK.json…');
  context = await open();
  await run(context.pages()[0] ?? (await context.newPage()));
} catch (error) {
  console.error(`browser test failed: ${firstLine(error instanceof Error ? error.message : String(error))}`);
  process.exitCode = 1;
} finally {
  await context?.close();
  await rm(profile, { recursive: true, force: true });
}

function open() {
  const [width, height] = options.size.split('x').map(Number);
  return chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: FLAGS,
    headless: true,
    viewport: { width, height },
    colorScheme: options.dark ? 'dark' : 'light',
  });
}

async function run(page) {
  const complaints = [];
  page.on('console', (it) => it.type() === 'error' && complaints.push(it.text()));
  page.on('pageerror', (it) => complaints.push(it.message));
  page.on('requestfailed', (it) => complaints.push(`${it.url()} could not be fetched`));

  const response = await page.goto(base, { waitUntil: 'load', timeout: LOADED_WITHIN_MS });
  if (!response?.ok()) throw new Error(`${base} answered with status ${response?.status()}`);
  await within(LOADED_WITHIN_MS, 'the engine to be ready', page.evaluate(() => globalThis.convengine.ready));
  await page.context().setOffline(true);

  for (const file of packs) await play(page, file);
  await chat(page);

  if (options.screenshot) await page.screenshot({ path: options.screenshot });
  if (complaints.length > 0) throw new Error(`the page complained: ${complaints.join('; ')}`);
}

async function play(page, file) {
  const text = await readFile(file, 'utf8');
  const turns = await page.evaluate((pack) => globalThis.convengine.play(pack), text).catch((error) => {
    throw new Error(`${file} could not be played: ${firstLine(error.message)}`);
  });
  console.log(JSON.stringify({ pack: basename(file), hashes: turns.map((it) => it.hash) }));
}

/** Says something by keyboard alone, as the first thing in the chat. */
async function chat(page) {
  await page.getByRole('textbox', { name: 'Message', exact: true }).focus();
  await page.keyboard.type(options.message);
  await page.keyboard.press('Enter');
  const bubble = page.locator('[data-role="assistant"], [data-role="fault"]').first();
  await bubble.waitFor({ timeout: ANSWERED_WITHIN_MS }).catch(() => {
    throw new Error('no answer appeared in the chat');
  });
  if ((await bubble.getAttribute('data-role')) === 'fault') {
    throw new Error(`the chat answered with a fault: ${await bubble.innerText()}`);
  }
  console.log(JSON.stringify({ chat: (await bubble.locator('[data-role="reply"], pre').first().innerText()).trim() }));
}

/** Leaves out the stack that the browser's messages carry. */
function firstLine(text) {
  return text.split('\n', 1)[0].replace(/^page\.evaluate: /, '');
}

async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${milliseconds} ms for ${what}`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

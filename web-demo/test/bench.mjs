/**
 * Measures the built page in a real Chromium: time to interactive, cost of a turn, and latency of moving the cursor.
 *
 *   node test/bench.mjs DIST PACK.json PLAIN.json ENGINE_FOLDER ROUNDS
 *
 * The turns of PLAIN.json, which request no effects, make a conversation of more than 10,000 steps.
 *
 * The link to the server has a limited bandwidth and 40 ms of latency for all requests of the page and its workers. Each time has a
 * baseline: an empty page, or the engine without a page. Prints one JSON line.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, openContext } from './chromium.mjs';
import { serveFolder } from './folder.mjs';
import { Link } from './link.mjs';

const RATES = [10_000_000, 1_600_000];
const TURNS = 200;
/** Number of turns, and the minimum number of cursor positions in them: every step, and the end of each turn. */
const LONG = 410;
const PLACES = 10_000;
const MOVES = 30;

const [dist, packFile, plainFile, engineFolder, rounds] = process.argv.slice(2);
const pack = await readFile(packFile, 'utf8');
const plain = JSON.parse(await readFile(plainFile, 'utf8'));
const link = new Link();
const server = await serveFolder(dist, { compressed: true, link });
const empty = await mkdtemp(join(tmpdir(), 'convengine-empty-'));
await writeFile(join(empty, 'index.html'), '<!doctype html><link rel="icon" href="data:,"><textarea id="message"></textarea><p class="about">empty</p>');
const nothing = await serveFolder(empty, { link });
const browser = await launch();
try {
  const loads = [];
  for (const bits of RATES) loads.push({ bits, ...(await loaded(bits)) });
  link.free();
  console.log(JSON.stringify({ loads, page: await turns(), engine: await engineAlone(), cursor: await cursor() }));
} finally {
  await browser.close();
  await Promise.all([server.close(), nothing.close()]);
  await rm(empty, { recursive: true, force: true });
}

/** Medians in milliseconds since navigation start: with an empty cache, with a filled cache, and for an empty page. */
async function loaded(bits) {
  const cold = [];
  const warm = [];
  const bare = [];
  for (let round = 0; round < Number(rounds); round += 1) {
    const context = await openContext(browser, { viewport: { width: 1440, height: 900 } });
    await context.addInitScript(watch);
    link.limit(bits, 40);
    cold.push(await opened(context, server.address));
    link.free();
    const page = await context.newPage();
    await page.goto(server.address);
    await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
    await page.close();
    link.limit(bits, 40);
    warm.push(await opened(context, server.address));
    bare.push(await opened(context, nothing.address));
    await context.close();
  }
  const both = (of) => ({ usable: middle(of.map((it) => it.usable)), ready: middle(of.map((it) => it.ready)) });
  return { cold: both(cold), warm: both(warm), empty: middle(bare.map((it) => it.usable)) };
}

/** Runs in every page before its own scripts: checks in each frame whether input is accepted, and records the time under a title. */
function watch() {
  globalThis.usable = new Promise((done) => {
    const look = () => {
      const field = document.querySelector('textarea#message');
      if (!field || field.disabled || !document.querySelector('.about')?.textContent.trim()) return void requestAnimationFrame(look);
      field.focus();
      document.execCommand('insertText', false, 'x');
      if (field.value !== 'x') return void requestAnimationFrame(look);
      const at = performance.now();
      document.execCommand('undo');
      done(at);
    };
    requestAnimationFrame(look);
  });
}

async function opened(context, address) {
  const page = await context.newPage();
  await page.goto(address, { waitUntil: 'commit' });
  const times = await page.evaluate(async () => {
    const usable = await globalThis.usable;
    await globalThis.convengine?.ready;
    return { usable, ready: performance.now() };
  });
  await page.close();
  return times;
}

/** The mean duration of a turn of the pack, run repeatedly in the page's worker. */
async function turns() {
  const page = await (await openContext(browser)).newPage();
  await page.goto(server.address);
  await page.evaluate(() => globalThis.convengine.ready);
  const play = (text) => page.evaluate(async (it) => {
    const begin = performance.now();
    const turns = await globalThis.convengine.play(it);
    return [turns.length, performance.now() - begin];
  }, text);
  const mean = await meanOf(play);
  await page.close();
  return mean;
}

/** The same turns with the engine alone, in this process. */
async function engineAlone() {
  const load = (name) => pathToFileURL(resolve(engineFolder, name)).href;
  const { default: init, Engine } = await import(load('convengine_wasm.js'));
  await init({ module_or_path: await readFile(new URL(load('convengine_wasm_bg.wasm'))) });
  return meanOf((text) => {
    const begin = performance.now();
    return [played(Engine, text), performance.now() - begin];
  });
}

/** Milliseconds per turn, without the time to compile the pack, which is measured with a pack without turns. */
async function meanOf(play) {
  const compiled = JSON.stringify({ ...JSON.parse(pack), turns: [] });
  for (const text of [pack, compiled]) await play(text);
  let [count, all, compile] = [0, 0, 0];
  while (count < TURNS) {
    const [turns, took] = await play(pack);
    count += turns;
    all += took;
    compile += (await play(compiled))[1];
  }
  return { count, mean: (all - compile) / count };
}

function played(Engine, text) {
  const engine = new Engine(text);
  const count = engine.scriptedTurns();
  for (let turn = 0; turn < count; turn += 1) {
    let slice = JSON.parse(engine.start(engine.scriptedTurn(turn).text));
    while (!slice.end) {
      const completions = slice.effects.map((it) => engine.answer(it.id).completion);
      slice = JSON.parse(engine.resume(`[${completions.join()}]`));
    }
    engine.turnHash();
  }
  engine.free();
  return count;
}

/** Time from the input that moves the cursor to the next paint in which the inspector shows the new position. */
async function cursor() {
  const page = await (await openContext(browser, { viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(server.address);
  await page.evaluate(() => globalThis.convengine.ready);
  await page.locator('#config input[type=file][accept*=json]').setInputFiles({ name: 'long.json', mimeType: 'application/json', buffer: Buffer.from(long()) });
  const play = page.getByRole('button', { name: 'Play pack' });
  // Its name is unique and shown in the page header.
  await page.locator('.about', { hasText: plain.name }).waitFor();
  const begin = performance.now();
  await play.click();
  await page.waitForFunction(
    (turns) => globalThis.convengine.turns().filter((it) => it.hash).length === turns,
    LONG,
    { polling: 200 },
  );
  const shown = (performance.now() - begin) / LONG;
  const slider = page.getByRole('slider', { name: 'Position in the conversation' });
  // Its steps are loaded when the engine is idle.
  await page.waitForFunction(
    (most) => Number(document.querySelector('.cursor-bar input[type=range]').max) >= most,
    PLACES,
    { polling: 200 },
  );
  const places = Number(await slider.getAttribute('max')) + 1;
  const times = (await page.evaluate(moved, MOVES)).sort((a, b) => a - b);
  await page.close();
  return { places, turns: LONG, shown, median: middle(times), p95: times[Math.ceil(times.length * 0.95) - 1] };
}

/** A conversation of that many turns: those of the benchmark pack, repeated. */
function long() {
  const { turns, ...rest } = plain;
  const said = Array.from({ length: LONG }, (_, at) => ({ conversation: 'main', request: turns[at % turns.length].request }));
  return JSON.stringify({ ...rest, turns: said });
}

/** Runs in the page: moves the cursor and waits until the inspector is stable. */
async function moved(moves) {
  const QUIET_MS = 250;
  const slider = document.querySelector('.cursor-bar input[type=range]');
  const inspector = document.querySelector('#inspector');
  let painted = 0;
  const watcher = new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => (painted = performance.now()))));
  watcher.observe(inspector, { childList: true, characterData: true, attributes: true, subtree: true });
  const times = [];
  for (let move = 0; move < moves; move += 1) {
    // Far apart, and the same in every run.
    slider.value = String((move * 7919 + 4231) % Number(slider.max));
    const begin = performance.now();
    painted = 0;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    while (painted === 0 || performance.now() - painted < QUIET_MS) await new Promise((resolve) => setTimeout(resolve, 10));
    times.push(painted - begin);
  }
  watcher.disconnect();
  return times;
}

function middle(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

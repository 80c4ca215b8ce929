/**
 * Drives the page like a user.
 *
 *   node test/simulator.mjs BASE_URL branch                     the first view, offline; another message in turn 4
 *   node test/simulator.mjs BASE_URL stopped                    the same, with an engine that stops before the other answer
 *   node test/simulator.mjs BASE_URL recorded ID FOLDER         imports a conversation from the server and exports it as a test
 *   node test/simulator.mjs BASE_URL edited PACK.json FROM TO   plays a pack, replaces a text in it, and plays it again
 *   node test/simulator.mjs BASE_URL shared PACK.json FROM TO   plays a pack, replaces a text in it, and opens the share link in another page
 *   node test/simulator.mjs BASE_URL waiting                    a turn waits for a manual answer while the pack is edited and replaced
 *   node test/simulator.mjs BASE_URL broken ROW FOUND KEYS     types keys into the pattern of a rule, in its cell and in the text
 *   node test/simulator.mjs BASE_URL row PACK.json TABLE COLUMN FROM TO   plays a pack and replaces a text in a cell of it
 *   node test/simulator.mjs BASE_URL failures TURNS EFFECT FAULT   fails each effect of turns of the loan, and then one of the last of them
 *   node test/simulator.mjs BASE_URL keyboard                   the first minute by keyboard alone
 *   node test/simulator.mjs BASE_URL tutorial PATTERN           the tutorial of the documentation, with the pattern that it writes into a rule
 *   node test/simulator.mjs BASE_URL story                      the first view, two conversations, and a cancelled turn
 *   node test/simulator.mjs BASE_URL stored                     sessions that the browser keeps
 *   node test/simulator.mjs BASE_URL talks                      exports conversations and opens them again
 *   node test/simulator.mjs BASE_URL knowledge PACK.json        searches articles, tests the retrieval, adds and removes a source
 *   node test/simulator.mjs BASE_URL desk PACK.json             plays the desk's side of a handoff
 *   node test/simulator.mjs BASE_URL scripts PACK.json          runs a script, fails at a line of another one and mends it
 *   node test/simulator.mjs BASE_URL phrases PACK.json PHRASE TO   the report on phrases, one that misleads, and a message recognised by its words
 *   node test/simulator.mjs BASE_URL run                        the claim as a run: a timer, an inbox, a branch, a fault, and a run of one's own
 *   node test/simulator.mjs BASE_URL workflow PACK.json         a workflow graph, whose agent passes the conversation to an assistant
 *   node test/simulator.mjs BASE_URL mcp PACK.json [server]    lists, approves and calls tools of an MCP server; a call in the timeline
 *   node test/simulator.mjs BASE_URL flow                       the bank as a flow: its graph, a node, a fault and a timer
 *
 * Prints JSON lines, each with one named member.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { blankEditor, withPage } from './chromium.mjs';
import { print, shown, turns } from './simulator/common.mjs';
import { failures } from './simulator/faults.mjs';
import { tutorial } from './simulator/first-page.mjs';
import { flow } from './simulator/flow.mjs';
import { keyboard } from './simulator/keyboard.mjs';
import { mcp } from './simulator/mcp.mjs';
import { desk, knowledge, scripts } from './simulator/nodes.mjs';
import { phrases } from './simulator/phrases.mjs';
import { broken, row } from './simulator/rows.mjs';
import { run, workflow } from './simulator/run.mjs';
import { shared, waiting } from './simulator/sessions.mjs';
import { stored } from './simulator/stored.mjs';
import { story } from './simulator/story.mjs';
import { talks } from './simulator/talks.mjs';

const [base, what, ...more] = process.argv.slice(2);
const WAYS = { branch, stopped, recorded, edited, shared, waiting, broken, row, failures, keyboard, flow, story, stored, talks, knowledge, desk, scripts, phrases, run, tutorial, workflow, mcp };

// The console names each refusal of the server.
const tolerated = what === 'mcp' ? /status of 409 / : /^$/;

/** Completes when lint has been fetched. */
let linted;

await withPage(base, { before: listen, tolerated }, (page) => WAYS[what](page, more));

/** Records the effects that the worker reports as answered. */
async function listen(page) {
  // Lint is fetched beside the first turns; a page without it complains when the network is gone.
  linted = page.waitForEvent('requestfinished', (it) => /\/lint-[\w-]+\.wasm$/.test(it.url())).catch(() => undefined);
  await page.addInitScript(() => {
    globalThis.answered = [];
    globalThis.workers = [];
    globalThis.Worker = class extends Worker {
      constructor(...all) {
        super(...all);
        globalThis.workers.push(this);
        this.addEventListener('message', ({ data }) => {
          if (data.type === 'answer') globalThis.answered.push(data.exchange.effect.request);
        });
      }
    };
  });
}

async function branch(page, [], beforeBranch = () => {}) {
  await linted;
  await page.context().setOffline(true);
  await turns(page, 5);
  print({ played: await shown(page) });
  await page.evaluate(() => globalThis.answered.splice(0));
  await beforeBranch();
  const fourth = page.locator('article.turn').nth(3);
  await fourth.getByRole('button', { name: /^Edit and branch/ }).click();
  await page.getByLabel('New message for turn 4').fill('no');
  await page.keyboard.press('Enter');
  await turns(page, 4);
  print({ branched: await shown(page) });
  print({ asked: await page.evaluate(() => globalThis.answered.map((it) => it.user_text)) });
  print({ branches: await page.locator('.branches').evaluate((it) => ((it.open = true), it.innerText)) });
}

/** Simulates a trap of the engine, which no pack is known to cause. */
async function stopped(page) {
  const failure = { id: -1, type: 'failed', code: 'ENGINE_STOPPED', message: 'unreachable', fatal: true };
  await branch(page, [], () => page.evaluate((data) => globalThis.workers[0].onmessage({ data }), failure));
  print({ remark: await page.locator('.chat .notice').innerText() });
}

async function recorded(page, [id, folder]) {
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('Conversation id').fill(id);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'View conversation' }).waitFor();
  print({ verdict: await dialog.locator('[role="status"] p').first().innerText() });
  await dialog.getByRole('button', { name: 'View conversation' }).click();
  print({ taken: await shown(page) });
  print({ equal: await page.getByText('state hash matches').count() });
  await page.getByRole('button', { name: 'Export test' }).click();
  const downloads = new Promise((resolve) => {
    const begun = [];
    page.on('download', (it) => begun.push(it) === 2 && resolve(begun));
  });
  await page.getByRole('button', { name: /^Save .*talk/ }).click();
  const files = (await downloads).map((it) => it.saveAs(join(folder, it.suggestedFilename())).then(() => it.suggestedFilename()));
  print({ files: await Promise.all(files) });
}

async function edited(page, [file, from, to]) {
  const pack = await readFile(file, 'utf8');
  const { turns: count } = JSON.parse(pack);
  const editor = await blankEditor(page);
  for (const text of [pack, pack.replaceAll(from, to)]) {
    await editor.fill(text);
    await page.locator('.pack-state.applied').waitFor();
    await page.getByRole('button', { name: 'Play pack' }).click();
    await turns(page, count.length);
    print({ hashes: (await shown(page)).map((it) => it.hash) });
  }
}

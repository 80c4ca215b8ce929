/** Runs of chains: their steps, waits and branches; and workflow graphs with the documents that they run. */
import { readFile } from 'node:fs/promises';
import { blankEditor } from '../chromium.mjs';
import { print, sample, shown, turns } from './common.mjs';

/** Plays the claim, skips a timer, decides otherwise, fails the webhook, edits a step, and starts and cancels a run. */
export async function run(page) {
  await sample(page, /^Insurance claim as a run/);
  await turns(page, 5);
  print({ played: await shown(page), node: await currentStep(page), steps: await steps(page) });
  print({ retry: [await turn(page, 4).locator('.run-progress').innerText(), await turn(page, 5).locator('.run-progress').innerText()] });
  await page.getByRole('button', { name: /^Skip to 2026-01-04/ }).click();
  await turns(page, 6);
  print({ skipped: (await shown(page))[5], clock: await turn(page, 6).locator('.run-data .small').first().textContent(), end: await page.locator('.run-controls').innerText() });
  await decidedOtherwise(page);
  await failedWebhook(page);
  await edited(page);
  await started(page);
}

/** Goes back to the moment at which a person was asked, and rejects; first without a required field. */
async function decidedOtherwise(page) {
  await turn(page, 4).getByRole('button', { name: /^Act otherwise/ }).click();
  const inbox = page.getByRole('region', { name: 'Inbox' });
  await inbox.waitFor();
  print({ past: await page.locator('.run-controls .notice span').innerText(), asked: await inbox.locator('.run-prompt').innerText(), node: await currentStep(page) });
  await inbox.getByRole('button', { name: 'reject' }).click();
  await turns(page, 4);
  print({ refused: await turn(page, 4).locator('[data-role="refusal"]').innerText(), missing: await inbox.getByRole('status').innerText() });
  await inbox.getByLabel(/^amount/).fill('0');
  await inbox.getByLabel('Comment').fill('Not insured.');
  await inbox.getByRole('button', { name: 'reject' }).click();
  await turns(page, 5);
  print({ rejected: await shown(page), branch: await steps(page), branches: await page.locator('.branches').evaluate((it) => ((it.open = true), it.innerText)) });
}

/** Fails the webhook in the first branch; the error branch asks a person. */
async function failedWebhook(page) {
  await page.locator('.branches').getByRole('button', { name: /^Branch 1 / }).click();
  await turns(page, 6);
  await page.getByRole('treegrid').getByRole('button', { name: 'Actions for Service claim/book' }).last().click();
  await page.getByRole('menuitem', { name: 'Fail with…', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Unauthorized', exact: true }).click();
  await turns(page, 5);
  const inbox = page.getByRole('region', { name: 'Inbox' });
  await inbox.waitFor();
  print({ failed: (await shown(page))[4], byHand: await inbox.locator('.run-prompt').innerText(), node: await currentStep(page) });
  await inbox.getByLabel(/^reference/).fill('H-1');
  await inbox.getByRole('button', { name: 'booked' }).click();
  await turns(page, 6);
  print({ booked: (await shown(page))[5] });
}

/** Shortens the pause; the branch is replayed on it. */
async function edited(page) {
  await page.getByRole('option', { name: /^Three days/ }).click();
  const field = page.getByRole('textbox', { name: /^Config of Three days/ });
  await field.waitFor();
  await field.fill('{"after_ms": 3600000}');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('Applied; the run was replayed.').waitFor();
  await turns(page, 6);
  print({ shortened: await page.getByRole('button', { name: /^Skip to/ }).first().innerText() });
  await page.getByRole('button', { name: 'Close node' }).click();
}

/** Starts a run by keyboard alone, approves in the inbox, and cancels it. */
async function started(page) {
  await page.getByRole('button', { name: 'New run' }).first().click();
  const input = page.getByLabel(/^Input \(JSON\)/);
  await input.waitFor();
  await input.fill('{');
  print({ invalid: await page.getByRole('button', { name: 'Start run' }).isEnabled() });
  await input.fill('{"text": "A tree fell on my car", "email": "bo@example.org"}');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await turns(page, 1);
  for (const [index, text] of ['99', 'the roof of my car'].entries()) {
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
    await page.keyboard.press('Enter');
    await turns(page, index + 2);
  }
  const inbox = page.getByRole('region', { name: 'Inbox' });
  await inbox.waitFor();
  await inbox.getByLabel(/^amount/).fill('400');
  await inbox.getByRole('button', { name: 'approve' }).click();
  await turns(page, 4);
  print({ approved: await shown(page), waits: await page.getByRole('button', { name: /^Skip to/ }).first().innerText() });
  await page.getByText('Timers and cancelling').click();
  await page.getByLabel('Reason for cancelling').fill('sold the car');
  await page.getByRole('button', { name: 'Cancel run' }).click();
  await turns(page, 5);
  print({ cancelled: (await shown(page))[4], ended: await page.locator('.run-controls').innerText() });
}

/** A workflow graph: an agent passes the conversation to an assistant with a graph of its own. */
export async function workflow(page, [file]) {
  const pack = JSON.parse(await readFile(file, 'utf8'));
  const finish = { tool_calls: [{ id: 'c1', name: 'finish', arguments: { output: 'billing' } }] };
  // The page refuses edits that bring errors.
  const fallback = { enabled: true, message: 'Pardon?' };
  pack.documents = pack.documents.map((it) => (it.doc === 'conversation_flow' ? { ...it, events: { ...it.events, fallback } } : it));
  const editor = await blankEditor(page);
  await editor.fill(JSON.stringify({ ...pack, llm: [{ purpose: 'agent', reply: finish }] }, null, 1));
  await page.locator('.pack-state.applied').waitFor();
  await page.getByText('Next session and timing').click();
  await page.getByLabel('Trigger of the next session').selectOption('Chat opened');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await turns(page, 1);
  print({ greeted: (await shown(page))[0], node: await currentStep(page) });
  for (const [index, text] of ['it is about my bill', 'pay my bill'].entries()) {
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text);
    await page.keyboard.press('Enter');
    await turns(page, index + 2);
  }
  print({ nested: await page.getByRole('navigation', { name: 'Call stack' }).innerText(), tab: await page.locator('.flow-tabs [aria-selected="true"]').innerText(), inside: await currentStep(page) });
  await page.getByRole('tab', { name: /^Support/ }).click();
  print({ outside: await page.locator('.flow-node.caller .flow-name').allTextContents() });
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('4929123412341234');
  await page.keyboard.press('Enter');
  await turns(page, 4);
  await page.getByRole('tab', { name: /^Billing: Pay/ }).click();
  print({ paid: (await shown(page))[3], path: await page.locator('.flow-node.visited .flow-name').allTextContents() });
  await page.getByRole('tab', { name: /Support/ }).click();
  print({ back: await page.locator('.flow-node.visited .flow-name').allTextContents() });
  await page.locator('#config').getByRole('button', { name: 'Text', exact: true }).click();
  await page.getByRole('textbox', { name: 'Pack as JSON text' }).fill(JSON.stringify({ ...pack, documents: pack.documents.map((it) => (it.id === 'survey' ? { ...it, nodes: it.nodes.map((node) => (node.id === 'ask' ? { ...node, data: { assistant_id: 'nobody' } } : node)) } : it)) }, null, 1));
  await page.locator('.issues .issue', { hasText: 'nobody' }).first().waitFor();
  print({ issues: await page.locator('.issues .issue').allInnerTexts() });
}

function turn(page, number) {
  return page.getByRole('article', { name: `Turn ${number}`, exact: true });
}

/** The current step or node, once the drawing has followed. */
async function currentStep(page) {
  await page.locator('.flow-node.active').waitFor();
  return page.locator('.flow-node.active .flow-name').textContent();
}

/** The steps of the run with their statuses. */
async function steps(page) {
  await page.locator('.run-steps').evaluate((it) => (it.open = true));
  return page.locator('.run-step').allInnerTexts();
}

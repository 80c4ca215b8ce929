/** Tools of MCP servers: the dialog, and a call in the timeline with its faults. */
import { readFile } from 'node:fs/promises';
import { blankEditor } from '../chromium.mjs';
import { print, shown, turns } from './common.mjs';
import { stubMcp } from './mcp-stub.mjs';

const LABEL = 'mcp acme-oms · get_order_status';

/**
 * Lists the tools of a server, calls and approves them by keyboard; then plays the first turn of a pack that calls one, and fails it.
 *
 * With `server`, the page's server answers; it needs the MCP server `acme-oms` with the tools of tests/mcp/fake_server.mjs.
 */
export async function mcp(page, [pack, backend]) {
  const requests = backend === 'server' ? [] : await stubMcp(page);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find a command' }).fill('MCP tools');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'MCP tools' });
  await dialog.waitFor();
  print({ unconnected: await dialog.innerText(), asked: requests.length });
  await dialog.getByRole('button', { name: 'Connect' }).press('Enter');
  await dialog.locator('.mcp-tool').first().waitFor();
  print({ tools: await dialog.locator('.mcp-tool > summary').allInnerTexts() });

  await open(dialog, 'get_order_status');
  print({ description: await dialog.getByRole('group', { name: 'Description of get_order_status' }).innerText() });
  print({ elements: await dialog.locator('img, b').count(), attacked: await page.evaluate(() => globalThis.attacked === true) });
  await dialog.getByRole('button', { name: 'Call get_order_status' }).press('Enter');
  print({ missing: await dialog.locator('.mcp-form [role="alert"]:not(:empty)').innerText() });
  await dialog.getByLabel('orderId (required)').fill('ORD-7017');
  await page.keyboard.press('Enter');
  print({ result: JSON.parse(await dialog.getByRole('group', { name: 'Result of get_order_status' }).innerText()) });
  await dialog.getByLabel('orderId (required)').fill('ORD-1');
  await page.keyboard.press('Enter');
  print({ error: await dialog.getByRole('group', { name: 'Error of get_order_status' }).innerText() });
  await dialog.getByRole('button', { name: 'Approve get_order_status', exact: true }).press('Enter');
  print({ approved: await stateOf(dialog, 'get_order_status', '✓ approved') });
  await dialog.getByRole('button', { name: 'Withdraw approval of get_order_status' }).press('Enter');
  print({ withdrawn: await stateOf(dialog, 'get_order_status', '○ not approved') });
  await open(dialog, 'get_order_status');

  await open(dialog, 'cancel_order');
  await dialog.getByRole('checkbox', { name: 'Write the arguments as JSON' }).press('Space');
  await dialog.getByLabel('Arguments (JSON)').fill('{"orderId": "ORD-7017"}');
  const before = requests.length;
  await dialog.getByRole('button', { name: 'Call cancel_order' }).press('Enter');
  const confirm = dialog.locator('.mcp-confirm');
  print({ confirm: await confirm.innerText(), focused: await page.evaluate(() => document.activeElement.innerText), sent: requests.length - before });
  await page.keyboard.press('Enter');
  await confirm.waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Call cancel_order' }).press('Enter');
  await confirm.getByRole('button', { name: 'Call now' }).press('Enter');
  print({ cancelled: await dialog.getByRole('group', { name: 'Result of cancel_order' }).innerText() });

  if (backend !== 'server') {
    await open(dialog, 'reserve_stock');
    print({ changed: await dialog.locator('.mcp-tool[open] .warn-text').allInnerTexts() });
    await dialog.locator('.mcp-tool', { hasText: 'reserve_stock' }).getByLabel('A person approves').selectOption('never');
    await dialog.getByRole('button', { name: 'Approve reserve_stock again' }).press('Enter');
    await dialog.getByText('is not the one that was reviewed').waitFor();
    print({ conflict: await dialog.locator('.mcp-status [role="alert"]').innerText() });
    await dialog.getByRole('button', { name: 'Withdraw approval of retired' }).press('Enter');
    await dialog.getByText('Approved, but not offered any more').waitFor({ state: 'detached' });
    print({ requests: requests.filter((it) => it.method !== 'GET') });
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  if (pack) await timeline(page, pack);
}

/** Opens the tool, or closes it. */
async function open(dialog, name) {
  await dialog.locator('.mcp-tool > summary').filter({ hasText: name }).press('Enter');
}

async function stateOf(dialog, name, state) {
  const summary = dialog.locator('.mcp-tool > summary').filter({ hasText: name });
  await summary.filter({ hasText: state }).waitFor();
  return summary.locator('.mcp-state').innerText();
}

/** Plays the first turn of a pack, and fails its call. */
async function timeline(page, file) {
  const pack = JSON.parse(await readFile(file, 'utf8'));
  await (await blankEditor(page)).fill(JSON.stringify({ ...pack, turns: pack.turns.slice(0, 1) }, null, 1));
  await page.locator('.pack-state.applied').waitFor();
  await page.getByRole('button', { name: 'Play pack' }).click();
  await turns(page, 1);
  await page.getByRole('treegrid').getByRole('row', { name: LABEL }).first().click();
  await page.getByRole('tab', { name: 'Details' }).click();
  const details = page.locator('#inspector');
  await details.locator('.mcp-call').waitFor();
  print({ call: await details.locator('.mcp-call').innerText(), answer: await details.getByRole('group', { name: 'Answer', exact: true }).innerText() });
  await details.getByText('Schema of the arguments, as approved').click();
  print({ schema: JSON.parse(await details.getByRole('group', { name: 'Schema of the arguments' }).innerText()) });
  await page.getByRole('treegrid').getByRole('button', { name: `Actions for Tool ${LABEL}`, exact: true }).click();
  await page.getByRole('menuitem', { name: 'Fail with…', exact: true }).click();
  print({ faults: (await page.getByRole('menuitem').allInnerTexts()).filter((it) => /^(Tool|Error of the tool|Result)/.test(it)) });
  await page.getByRole('menuitem', { name: 'Tool changed since its approval' }).click();
  await page.getByText(/^↳ Branch:/).waitFor();
  // The planner is told of the failure, which the recorded request does not know.
  await page.getByRole('button', { name: 'Use recorded answer' }).click();
  await turns(page, 1);
  print({ reason: await page.locator('.fork').innerText(), failed: await page.getByRole('treegrid').locator('.row.failed .name').allInnerTexts(), branched: await shown(page) });
}

/**
 * Checks the screens of the page for accessibility violations with axe.
 *
 *   node test/axe.mjs BASE_URL [--screenshots FOLDER]
 *
 * Prints a line for each screen and look: `{"screen", "look", "violations": [{"id", "help", "nodes"}]}`.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { addAxe, resize, RULES, SIZES, violations } from './axe-rules.mjs';
import { firstLine, textEditor, withPage } from './chromium.mjs';
import { stubMcp } from './simulator/mcp-stub.mjs';

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { screenshots: { type: 'string' } } });
const [base] = positionals;

/** How to reach each screen from a freshly opened page. */
const SCREENS = {
  welcome: async (page) => {
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.locator('.welcome').waitFor();
  },
  played: loan,
  why: async (page) => {
    await loan(page);
    await page.getByRole('button', { name: /^Why\? \(turn 5\)/ }).click();
    await page.getByRole('tab', { name: 'Why', selected: true }).waitFor();
  },
  everything: async (page) => {
    await loan(page);
    await show(page, 'timeline');
    await page.getByRole('radio', { name: 'Everything' }).check();
  },
  'table of rules': async (page) => {
    await loan(page);
    await show(page, 'config');
    await page.locator('#config table, #config [role="grid"]').first().waitFor();
  },
  'a broken rule': async (page) => {
    await show(page, 'config');
    const editor = await textEditor(page);
    await editor.fill('{"name": "broken", "tables": {"ce_rule": [{"rule_id": 1, "rule_type": "REGEX", "match_pattern": "(", "action": "SET_STATE", "action_value": "A"}]}}');
    await page.locator('#config .issue.error').first().waitFor();
  },
  'an answer by hand': async (page) => {
    await page.locator('.answer-panel summary').click();
    await page.getByRole('radio', { name: /^Manual/ }).check();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('I need a loan for a boat');
    await page.keyboard.press('Enter');
    await page.locator('.ask').waitFor();
  },
  'a model of your own': async (page) => {
    await page.locator('.answer-panel summary').click();
    await page.getByRole('radio', { name: /^Your own model/ }).check();
    await page.locator('.answer-panel label', { hasText: /^Provider/ }).locator('select').selectOption({ label: 'OpenAI-compatible' });
  },
  'filters and a menu of faults': async (page) => {
    await loan(page);
    await show(page, 'timeline');
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByRole('button', { name: /^Actions for Model / }).last().click();
    await page.getByRole('menuitem', { name: 'Always fail with…' }).click();
    await page.getByRole('menuitemradio', { name: /^second time/i }).click();
  },
  'an active fault': async (page) => {
    await loan(page);
    await show(page, 'timeline');
    await page.getByRole('button', { name: /^Actions for Model / }).last().click();
    await page.getByRole('menuitem', { name: 'Always fail with…' }).click();
    await page.getByRole('menuitem', { name: 'Connection refused' }).click();
    await show(page, 'chat');
    await page.locator('.answer-panel summary').click();
    await page.getByRole('button', { name: /^Remove fault: / }).waitFor();
  },
  branches: async (page) => {
    await loan(page);
    await page.locator('article.turn').nth(3).getByRole('button', { name: /^Edit and branch/ }).click();
    await page.getByLabel('New message for turn 4').fill('no');
    await page.keyboard.press('Enter');
    await page.locator('.branches summary').click();
  },
  'a flow': async (page) => {
    await bank(page);
    await show(page, 'config');
    await page.locator('.flow-node.active').waitFor();
  },
  'a node of a flow': async (page) => {
    await bank(page);
    await show(page, 'config');
    await page.locator('.flow-node').first().click();
    await page.getByRole('textbox', { name: /^Data of / }).waitFor();
  },
  'variables of a flow': async (page) => {
    await bank(page);
    await show(page, 'inspector');
    await page.getByRole('tab', { name: 'Variables' }).click();
    await page.locator('.frames').first().waitFor();
  },
  'a search': async (page) => {
    await asked(page, 'knowledge', 'a question: how long do parcels take to the islands');
    await show(page, 'timeline');
    await page.getByRole('row', { name: /Knowledge search/ }).first().click();
    await show(page, 'inspector');
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.locator('#inspector .search-result').waitFor();
  },
  'a knowledge base': async (page) => {
    await asked(page, 'knowledge', 'plain');
    await show(page, 'config');
    await page.locator('#config').getByRole('button', { name: 'Knowledge', exact: true }).click();
    await page.getByLabel('Query', { exact: true }).fill('gift cards');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('.retrieval tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Add a text' }).click();
  },
  'a script': async (page) => {
    await asked(page, 'python', 'raise');
    await show(page, 'timeline');
    await page.getByRole('row', { name: /Script.*failed/ }).first().click();
    await show(page, 'inspector');
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.getByRole('button', { name: 'Show line 2' }).click();
    await page.getByRole('textbox', { name: 'Code' }).waitFor();
    await page.locator('.flow-panel .script-result').waitFor();
  },
  'the phrases of a document': async (page) => {
    await asked(page, 'phrases', 'show me money');
    await show(page, 'config');
    const editor = await textEditor(page);
    const pack = await readFile(new URL('../../tests/packs/flow/phrases.json', import.meta.url), 'utf8');
    await editor.fill(pack.replace('I lost my card', 'when do you close today'));
    await page.locator('.issues .issue', { hasText: 'misleading-phrase' }).first().waitFor();
    await page.locator('#config').getByRole('button', { name: 'Phrases', exact: true }).click();
    await page.locator('.confusions').waitFor();
    await page.getByText('All intents', { exact: true }).click();
  },
  'why an intent was recognised': async (page) => {
    await asked(page, 'phrases', 'how much money is in my account');
    await page.getByRole('button', { name: /^Why\? \(turn 2\)/ }).click();
    await page.locator('.terms').first().waitFor();
  },
  'the desk': async (page) => {
    await asked(page, 'helpdesk', 'a human');
    await page.getByRole('region', { name: 'Desk' }).getByRole('button', { name: 'Add variable' }).click();
  },
  'a run': async (page) => {
    await claim(page);
    await page.locator('.run-steps').evaluate((it) => (it.open = true));
    await page.getByText('Timers and cancelling').click();
  },
  'the steps of a run': async (page) => {
    await claim(page);
    await show(page, 'config');
    await page.locator('.flow-node.active').waitFor();
  },
  'an inbox': async (page) => {
    await claim(page);
    await page.getByRole('button', { name: /^Act otherwise/ }).nth(1).click();
    await page.getByRole('region', { name: 'Inbox' }).getByRole('button', { name: 'approve' }).click();
    await page.locator('[data-role="refusal"]').waitFor();
  },
  'the start of a run': async (page) => {
    await claim(page);
    await page.getByRole('button', { name: 'New run', exact: true }).first().click();
    await page.getByLabel(/^Input \(JSON\)/).waitFor();
  },
  samples: (page) => opened(page, 'Show all samples'),
  import: (page) => opened(page, 'Import a conversation'),
  export: async (page) => {
    await loan(page);
    await opened(page, 'Export a test');
  },
  share: async (page) => {
    await loan(page);
    await opened(page, 'Share this session');
  },
  'MCP tools': async (page) => {
    await stubMcp(page);
    await opened(page, 'MCP tools');
    const dialog = page.getByRole('dialog', { name: 'MCP tools' });
    await dialog.getByRole('button', { name: 'Connect' }).click();
    await dialog.getByText('changed since its approval').click();
    await dialog.getByLabel('sku (required)').fill('A-1');
    await dialog.getByLabel('quantity (required)').fill('2');
    await dialog.getByRole('button', { name: 'Call reserve_stock' }).click();
    await dialog.getByRole('button', { name: 'Call now' }).click();
    await dialog.getByRole('group', { name: 'Error of reserve_stock' }).waitFor();
    await dialog.getByRole('button', { name: 'Call reserve_stock' }).click();
  },
  commands: async (page) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
  },
};

// Two browsers, one for every second screen.
const names = Object.keys(SCREENS);
await Promise.all([0, 1].map((at) => withPage(base, { size: SIZES[0] }, (page) => screens(page, names.filter((_, it) => it % 2 === at)))));

/** Reaches each screen on a narrow page, where all areas but one are hidden, and looks at it there and on a wide one. */
async function screens(page, names) {
  for (const name of names) {
    await resize(page, SIZES[0]);
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.evaluate(() => indexedDB.deleteDatabase('convengine'));
    await page.goto('about:blank');
    await page.goto(base);
    await page.evaluate(() => globalThis.convengine.complete);
    await SCREENS[name](page).catch((error) => {
      throw new Error(`${name}: ${firstLine(error.message)}`);
    });
    await addAxe(page);
    for (const size of SIZES) {
      await resize(page, size);
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        const look = `${size}, ${colorScheme}`;
        console.log(JSON.stringify({ screen: name, look, violations: await violations(page, RULES[colorScheme]) }));
        if (options.screenshots) await page.screenshot({ path: join(options.screenshots, `${name}-${look}.png`.replaceAll(/[^\w.]+/g, '-')) });
      }
    }
  }
}

/** The page opens with the played loan. */
async function loan(page) {
  await played(page);
}

async function bank(page) {
  await opened(page, 'Show all samples');
  await page.getByRole('dialog').getByRole('button', { name: /^Bank assistant as a flow/ }).click();
  await page.locator('.about', { hasText: 'Bank assistant as a flow' }).waitFor({ state: 'attached' });
  await played(page);
  await show(page, 'chat');
  await page.getByText('Timers and session end').click();
}

async function claim(page) {
  await opened(page, 'Show all samples');
  await page.getByRole('dialog').getByRole('button', { name: /^Insurance claim as a run/ }).click();
  await page.locator('.about', { hasText: 'Insurance claim as a run' }).waitFor({ state: 'attached' });
  await played(page);
  await show(page, 'chat');
  await page.locator('.run-controls').waitFor();
}

async function played(page) {
  await page.waitForFunction(
    () => globalThis.convengine.turns().length === 5 && globalThis.convengine.turns().every((it) => it.hash),
  );
}

/** Opens a pack of flows and sends it a message. */
async function asked(page, pack, message) {
  await show(page, 'config');
  const editor = await textEditor(page);
  await editor.fill(await readFile(new URL(`../../tests/packs/flow/${pack}.json`, import.meta.url), 'utf8'));
  await page.waitForFunction(() => globalThis.convengine.turns().length === 1);
  await show(page, 'config');
  await page.locator('#config').getByRole('button', { name: 'Graph', exact: true }).click();
  await show(page, 'chat');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(message);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => globalThis.convengine.turns().length === 2 && globalThis.convengine.turns().every((it) => it.hash));
}

/** Shows an area on a narrow page. */
async function show(page, area) {
  await page.locator(`.areas [data-area="${area}"]`).click();
}

/** Opens a dialog by its command, because a narrow page has no buttons for them. */
async function opened(page, command) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find a command' }).fill(command);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
}

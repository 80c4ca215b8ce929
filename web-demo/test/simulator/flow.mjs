/** A flow document, with its graph beside the chat. */
import { print, sample, shown, turns } from './common.mjs';

/** Plays the bank, presses buttons, edits a node, fails a service, and fires the no-input timer. */
export async function flow(page) {
  const fetched = [];
  page.context().on('request', (it) => it.url().endsWith('.wasm') && fetched.push(/(\w+)-[^/]+$/.exec(it.url())[1]));
  await sample(page, /^Bank assistant as a flow/);
  await turns(page, 5);
  print({ fetched: fetched.filter((it) => it !== 'lint'), played: await shown(page), node: await currentNode(page) });

  await message(page, 5).getByRole('button', { name: 'More about Checking' }).click();
  await turns(page, 6);
  print({ pressed: (await shown(page))[5], node: await currentNode(page), blocks: await message(page, 6).innerText() });

  // A button of an earlier turn creates a branch.
  await message(page, 3).getByRole('button', { name: 'Savings' }).click();
  await turns(page, 4);
  await page.getByRole('tab', { name: /Check balance/ }).click();
  print({ branched: await shown(page), path: await page.locator('.flow-node.visited .flow-name').allTextContents() });

  await edited(page);
  await failed(page);
  await alone(page);
}

/** Edits the text of a node, then enters invalid data. */
async function edited(page) {
  await page.getByRole('option', { name: /^Low balance warning/ }).click();
  const field = page.getByRole('textbox', { name: /^Data of Low balance warning/ });
  await field.waitFor();
  await field.fill('{"blocks": [{"kind": "text", "text": "Mind your {{ session.account.balance }}."}]}');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('Applied; the conversation was replayed.').waitFor();
  await turns(page, 4);
  print({ edited: await shown(page) });
  // The applied data is shown formatted, which must not happen while the next text is entered.
  await page.waitForFunction((it) => !it.isConnected || (it.value ?? it.innerText).includes('\n'), await field.elementHandle());
  await field.fill('{"blocks": [');
  print({ broken: await page.locator('.flow-panel .fault-text').innerText(), apply: await page.getByRole('button', { name: 'Apply', exact: true }).isEnabled() });
  await field.fill('{"blocks": 7}');
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText('Not applied; the last valid pack is still running.').waitFor();
  print({ refused: await page.locator('.issues .issue.error').count(), kept: await shown(page) });
  await page.locator('.pack-menu summary').click();
  await page.getByRole('button', { name: 'Revert all changes' }).click();
  await page.locator('.pack-state.applied').waitFor();
  await page.waitForFunction(() => globalThis.convengine.turns()[3]?.reply?.startsWith('Careful'));
  await turns(page, 4);
}

/** Fails the service call of a turn, then retries without the fault. */
async function failed(page) {
  await page.getByRole('button', { name: 'Close node' }).click();
  await page.getByRole('treegrid').getByRole('button', { name: 'Actions for Service get_balance', exact: true }).first().click();
  await page.getByRole('menuitem', { name: 'Fail with…', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Unauthorized', exact: true }).click();
  await page.waitForFunction(() => globalThis.convengine.turns()[3]?.reply?.startsWith('I cannot'));
  await turns(page, 4);
  print({ failed: (await shown(page))[3], node: await currentNode(page) });
  await message(page, 4).getByRole('button', { name: 'Try again' }).click();
  await turns(page, 5);
  print({ again: (await shown(page))[4], node: await currentNode(page) });
}

/** Fires the no-input timer, checks the variables, and ends the session. */
async function alone(page) {
  await page.getByRole('button', { name: 'New conversation' }).click();
  await turns(page, 1);
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('account balance please');
  await page.keyboard.press('Enter');
  await turns(page, 2);
  await page.getByText('Timers and session end').click();
  await page.getByRole('button', { name: /^No input/ }).click();
  await turns(page, 3);
  print({ alone: await shown(page), stack: await page.getByRole('navigation', { name: 'Call stack' }).innerText() });
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('1234');
  await page.keyboard.press('Enter');
  await turns(page, 4);
  await page.getByRole('tab', { name: 'Variables' }).click();
  await page.locator('.variable.changed').first().waitFor();
  print({ variables: await page.locator('.variable.changed').allInnerTexts() });
  await page.getByRole('button', { name: 'End session' }).click();
  await page.getByRole('button', { name: 'Start a new session' }).click();
  await turns(page, 1);
  print({ anew: await shown(page) });
}

function message(page, turn) {
  return page.getByRole('article', { name: `Turn ${turn}`, exact: true });
}

/** The name of the current node, once the drawing has followed the last turn of the visible branch. */
async function currentNode(page) {
  const state = (await shown(page)).at(-1).state;
  const active = page.locator(`.flow-node.active[data-node="${state.slice(state.indexOf('/') + 1)}"]`);
  await active.waitFor();
  return active.locator('.flow-name').textContent();
}

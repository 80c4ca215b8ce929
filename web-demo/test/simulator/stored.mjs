/** Sessions in the browser's database. */
import { print, shown, turns } from './common.mjs';

/** Longer than any link. */
const LONG = 100_000;

/** Adopts the link of an earlier version, stores a long session, opens it again, and refuses to store. */
export async function stored(page) {
  await page.waitForTimeout(1500);
  print({ untouched: (await sessions(page)).length });

  await send(page, 'I need a loan');
  await turns(page, 6);
  const link = await shareLink(page);
  await page.evaluate(([key, fragment]) => localStorage.setItem(key, fragment), ['convengine.session', link]);
  await page.evaluate(() => indexedDB.deleteDatabase('convengine'));
  await reopen(page);
  await page.getByRole('button', { name: 'Continue where you left off' }).waitFor();
  print({ adopted: await sessions(page), legacy: await page.evaluate(() => localStorage.getItem('convengine.session')) });

  // Random, so that it does not compress.
  await page.getByRole('button', { name: 'New conversation' }).click();
  await send(page, await page.evaluate((length) => [...crypto.getRandomValues(new Uint8Array(length / 2))].map((it) => it.toString(16).padStart(2, '0')).join(''), LONG));
  await turns(page, 1);
  const before = await shown(page);
  await page.waitForTimeout(2500);
  await reopen(page);
  await page.getByRole('button', { name: 'Continue where you left off' }).click();
  await page.waitForFunction((length) => globalThis.convengine.turns()[0]?.message.length === length, LONG);
  await turns(page, 1);
  print({ length: before[0].message.length, equal: (await shown(page))[0].hash === before[0].hash, offered: await page.getByRole('button', { name: 'Continue where you left off' }).count() });

  await page.evaluate(() => {
    IDBObjectStore.prototype.put = () => {
      throw new DOMException('no room', 'QuotaExceededError');
    };
  });
  await send(page, 'hello');
  await turns(page, 2);
  const notice = page.locator('.chat .notice', { hasText: 'could not store' });
  await notice.waitFor();
  print({ refused: await notice.locator('span').innerText() });
}

async function reopen(page) {
  await page.reload();
  await page.evaluate(() => globalThis.convengine.complete);
}

async function send(page, message) {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(message);
  await page.keyboard.press('Enter');
}

async function shareLink(page) {
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const link = await page.getByRole('textbox', { name: 'Link', exact: true }).inputValue();
  await page.keyboard.press('Escape');
  return new URL(link).hash.replace('#s=', '');
}

/** The slots and members of the stored sessions. */
function sessions(page) {
  return page.evaluate(async () => {
    const database = await new Promise((resolve) => (indexedDB.open('convengine').onsuccess = ({ target }) => resolve(target.result)));
    const store = database.transaction('sessions').objectStore('sessions');
    const all = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const [keys, values] = await Promise.all([all(store.getAllKeys()), all(store.getAll())]);
    database.close();
    return keys.map((key, index) => [key, Object.keys(values[index])]);
  });
}

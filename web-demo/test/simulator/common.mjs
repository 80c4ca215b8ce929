/** What the scripts that use the page have in common. */

export const WITHIN_MS = 20_000;

/** Waits until the shown branch has so many turns that have all ended. */
export async function turns(page, count) {
  await page.waitForFunction(
    (wanted) => {
      const path = globalThis.convengine.turns();
      return path.length === wanted && path.every((it) => it.hash !== '' || it.fault !== null);
    },
    count,
    { timeout: WITHIN_MS },
  );
}

/** The turns of the branch that is shown. */
export function shown(page) {
  return page.evaluate(() => globalThis.convengine.turns());
}

/** Opens a sample from the welcome and waits until its first conversation has been played. */
export async function sample(page, title) {
  await page.getByRole('button', { name: title }).click();
  await page.waitForFunction(() => globalThis.convengine.turns().length > 0);
  await page.getByRole('button', { name: 'Play pack', disabled: false }).waitFor({ timeout: WITHIN_MS });
}

/** Waits until the engine has said what it thinks of the edited pack. */
export function judged(page) {
  return page.locator('.pack-state.applied, .pack-state.refused').waitFor({ timeout: WITHIN_MS });
}

export function print(line) {
  console.log(JSON.stringify(line));
}

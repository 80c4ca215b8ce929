/** Helpers shared by the scripts that drive the page. */

/** Waits until the visible branch has this many turns and all have finished. */
export async function turns(page, count) {
  await page.waitForFunction(
    (wanted) => {
      const path = globalThis.convengine.turns();
      return path.length === wanted && path.every((it) => it.hash !== '' || it.fault !== null);
    },
    count,
  );
}

/** The turns of the visible branch. */
export function shown(page) {
  return page.evaluate(() => globalThis.convengine.turns());
}

/** Opens a sample and waits until its first conversation has been played. */
export async function sample(page, title) {
  await page.getByRole('button', { name: 'Samples', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Samples' });
  await dialog.getByRole('button', { name: title }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.waitForFunction(() => globalThis.convengine.turns().length > 0);
  await page.getByRole('button', { name: 'Play pack', disabled: false }).waitFor();
}

/** Waits until the edited pack has been applied or rejected. */
export function judged(page) {
  return page.locator('.pack-state.applied, .pack-state.refused').waitFor();
}

export function print(line) {
  console.log(JSON.stringify(line));
}

/** What axe checks of every screen, of the page and of the book. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** A phone and a desktop. */
export const SIZES = ['360x780', '1440x900'];

/** What is checked of a screen, and what can differ between its colors. */
export const RULES = {
  light: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
};

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Adds axe to what a browser shows; a page that is opened later lacks it. */
export async function addAxe(page) {
  // Evaluated through the debugger, to which the page's content policy does not apply.
  await page.evaluate(axe);
}

/** Resizes the page, and waits until it is laid out anew. */
export async function resize(page, size) {
  const [width, height] = size.split('x').map(Number);
  await page.setViewportSize({ width, height });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Returns what a page violates of rules, with the first ten places of each: `[{"id", "help", "nodes"}]`. */
export async function violations(page, runOnly) {
  const { violations: found } = await page.evaluate((runOnly) => globalThis.axe.run({ runOnly, resultTypes: ['violations'], preload: false }), runOnly);
  return found.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 10).map((it) => it.target.join(' ')) }));
}

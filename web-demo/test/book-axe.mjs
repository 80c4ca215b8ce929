/**
 * Checks pages of the book for accessibility violations with axe.
 *
 *   node test/book-axe.mjs BASE_URL
 *
 * Prints a line for each screen and look: `{"screen", "look", "violations": [{"id", "help", "nodes"}]}`.
 */
import { addAxe, resize, RULES, SIZES, violations } from './axe-rules.mjs';
import { firstLine, launch, openContext } from './chromium.mjs';

const [base] = process.argv.slice(2);

/** The page of each screen, and how to reach the screen from it. */
const SCREENS = {
  'first page': { path: '' },
  'a tutorial': { path: 'start/first-pack.html' },
  'a guide': { path: 'guide/server.html' },
  'a long reference': { path: 'reference/settings.html' },
  'a concept with a picture': { path: 'concepts/turns.html' },
  'a specification with a list of its sections': { path: 'spec/chains.html' },
  screenshots: { path: 'guide/simulator.html' },
  'the list of chapters': { path: 'glossary.html', reach: openChapters },
  'a search': { path: '', reach: search },
};

const browser = await launch();
try {
  for (const colorScheme of ['light', 'dark']) {
    const context = await openContext(browser, { colorScheme, reducedMotion: 'reduce' });
    for (const [name, screen] of Object.entries(SCREENS)) {
      for (const size of SIZES) {
        const page = await context.newPage();
        const complaints = [];
        page.on('console', (it) => it.type() === 'error' && complaints.push(it.text()));
        page.on('pageerror', (it) => complaints.push(it.message));
        await resize(page, size);
        await page.goto(`${base}/docs/${screen.path}`);
        await screen.reach?.(page).catch((error) => {
          throw new Error(`${name}: ${firstLine(error.message)}`);
        });
        await addAxe(page);
        console.log(JSON.stringify({ screen: name, look: `${size}, ${colorScheme}`, violations: await violations(page, RULES[colorScheme]) }));
        if (complaints.length > 0) throw new Error(`${name}: the page complained: ${complaints.join('; ')}`);
        await page.close();
      }
    }
    await context.close();
  }
} catch (error) {
  console.error(`browser test failed: ${firstLine(error instanceof Error ? error.message : String(error))}`);
  process.exitCode = 1;
} finally {
  await browser.close();
}

/** Hides the list of chapters if the page is wide enough to show it, and opens it by keyboard. */
async function openChapters(page) {
  const button = page.getByRole('button', { name: 'Toggle Table of Contents' });
  if ((await button.getAttribute('aria-expanded')) === 'true') {
    await button.click();
    await page.locator('#mdbook-sidebar').waitFor({ state: 'hidden' });
  }
  await button.press('Enter');
  await page.locator('#mdbook-sidebar a.active').waitFor();
}

async function search(page) {
  await page.getByRole('button', { name: 'Toggle Searchbar' }).click();
  // The page searches at each key, and once its index is loaded.
  await page.getByRole('searchbox', { name: 'Search this book' }).pressSequentially('journal');
  await page.locator('#mdbook-searchresults li').first().waitFor();
}

/**
 * Tests the npm package: in the page of `examples/page` in a real Chromium, in Node.js, and by its types.
 *
 *   node test/embed.mjs EXAMPLE PACKAGE
 *
 * Prints one JSON line per finding, such as `{"page"}`: an answer of the page.
 */
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';
import { serveFolder } from './folder.mjs';

const WITHIN_MS = 20_000;
const TYPED = `
  import init, { Engine } from 'convengine';
  import { runTurn, type EffectHandler } from 'convengine/turn-runner';
  const handleEffect: EffectHandler = async ({ request }, text) => (request.kind === 'task' ? text : { error: { kind: 'unavailable', message: '' } });
  export async function reply(pack: string): Promise<string> {
    await init();
    const { outcome } = await runTurn(new Engine(pack), { message: 'hello' }, handleEffect);
    return outcome.payload?.value ?? '';
  }
  // @ts-expect-error a message needs a text
  void runTurn(new Engine(''), {});
`;

const [example, packed] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'convengine-embed-'));
try {
  await page();
  await program();
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Sets up the example as documented: the package next to the page. */
async function page() {
  await cp(example, join(folder, 'page'), { recursive: true });
  await cp(packed, join(folder, 'page/convengine'), { recursive: true });
  const server = await serveFolder(join(folder, 'page'), { below: '/bakery/' });
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on('console', (it) => it.type() === 'error' && complaints.push(it.text()));
    page.on('pageerror', (it) => complaints.push(it.message));
    await page.goto(server.address, { waitUntil: 'networkidle' });
    for (const message of ['When do you open?', 'Is there bread left?', 'Thank you']) {
      const status = page.getByRole('status');
      const before = await status.innerText();
      await page.getByRole('textbox').fill(message);
      await page.getByRole('textbox').press('Enter');
      await page.waitForFunction((text) => document.querySelector('[role=status]').textContent !== text, before, { timeout: WITHIN_MS });
      print({ page: await status.innerText() });
    }
    print({ complaints });
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Installs the package like npm and uses it in Node.js. */
async function program() {
  const installed = join(folder, 'node_modules/convengine');
  await mkdir(installed, { recursive: true });
  await cp(packed, installed, { recursive: true });
  const script = join(folder, 'program.mjs');
  await writeFile(script, `export * from 'convengine'; export { default } from 'convengine'; export * from 'convengine/turn-runner';
    export const wasm = import.meta.resolve('convengine/convengine.wasm');`);
  const { default: init, Engine, runTurn, wasm } = await import(pathToFileURL(script).href);
  await init({ module_or_path: await readFile(new URL(wasm)) });
  const engine = new Engine(await readFile(join(example, 'pack.json'), 'utf8'));
  const input = { message: 'Is there bread left?', at: 1_767_258_000_000, seed: 1 };
  const asked = [];
  const own = await runTurn(engine, input, async (effect, text) => {
    asked.push(effect.request.task, text.startsWith('{"id":'));
    return '{"ok":{"kind":"task","set_params":{"loaves":1,"price":1.0,"note":"a \\"comma\\", {brace"}}}';
  });
  print({ own: own.outcome.payload.value, asked, notices: own.notices.length > 10 });
  print({ script: (await runTurn(engine, input)).outcome.payload.value });
  const failed = await runTurn(engine, { ...input, seed: 2 }, () => ({ error: { kind: 'unavailable', message: 'no shelf' } }));
  print({ failed: failed.outcome.payload?.value ?? failed.outcome.fault.code });
  await writeFile(join(folder, 'typed.ts'), TYPED);
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom,esnext.disposable'];
  const check = spawnSync(process.execPath, [compiler, ...options, join(folder, 'typed.ts')], { cwd: folder, encoding: 'utf8' });
  print({ types: check.stdout });
}

function print(line) {
  console.log(JSON.stringify(line));
}

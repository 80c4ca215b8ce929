/**
 * Tests the npm package: in the page of `examples/page` and in a worker in a real Chromium, in Node.js, and by its types.
 *
 *   node test/embed.mjs EXAMPLE PACKAGE FLOW_PACK
 *
 * Prints one JSON line per finding, such as `{"page"}`: an answer of the page.
 */
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, openContext } from './chromium.mjs';
import { serveFolder } from './folder.mjs';

const TYPED = `
  import { createEngine, lint, runTurn, type EffectHandler } from 'convengine';
  import { connect } from 'convengine/worker-client';
  const handleEffect: EffectHandler = async ({ request }, text) => (request.kind === 'task' ? text : { error: { kind: 'unavailable', message: '' } });
  export async function reply(pack: string): Promise<string> {
    const engine = await createEngine(pack);
    const { outcome } = await runTurn(engine, { message: 'hello' }, handleEffect);
    await runTurn(engine, { flow: { type: 'session.start', locale: 'de' } });
    await runTurn(engine, engine.scriptedTurn(0));
    return (outcome.payload?.value ?? '') + engine.turnHash() + (await lint(pack)).map((it) => it.rule).join();
  }
  export async function journal(worker: Worker, pack: string): Promise<string> {
    const engine = await connect(worker).createEngine(pack);
    await engine.run({ message: 'hello' }, handleEffect);
    return engine.call('journal');
  }
  // @ts-expect-error a message needs a text or an event
  void createEngine('').then((it) => runTurn(it, {}));
`;

const [example, packed, flowPack] = process.argv.slice(2);
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
    const page = await (await openContext(browser)).newPage();
    const complaints = [];
    page.on('console', (it) => it.type() === 'error' && complaints.push(it.text()));
    page.on('pageerror', (it) => complaints.push(it.message));
    await page.goto(server.address, { waitUntil: 'networkidle' });
    for (const message of ['When do you open?', 'Is there bread left?', 'Thank you']) {
      const status = page.getByRole('status');
      const before = await status.innerText();
      await page.getByRole('textbox').fill(message);
      await page.getByRole('textbox').press('Enter');
      await page.waitForFunction((text) => document.querySelector('[role=status]').textContent !== text, before);
      print({ page: await status.innerText() });
    }
    print({ worker: await page.evaluate(playInWorker, await readFile(flowPack, 'utf8')) });
    print({ complaints });
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Plays the example and a flow in a worker of the page, by the package's own client. */
async function playInWorker(flowPack) {
  const { connect } = await import('./convengine/worker-client.js');
  const worker = new Worker(new URL('./convengine/worker.js', location.href), { type: 'module' });
  const { createEngine, lint } = connect(worker);
  const bakery = await createEngine(await (await fetch('./pack.json')).text());
  const asked = [];
  const count = async ({ request }) => {
    asked.push(request.task);
    return '{"ok":{"kind":"task","set_params":{"loaves":2,"price":1.0}}}';
  };
  const { outcome } = await bakery.run({ message: 'Is there bread left?', at: 1_767_258_000_000, seed: 1 }, count);
  const failure = await bakery.run({ message: 'Is there bread left?' }, () => Promise.reject(new Error('no shelf'))).catch((it) => it.message);
  const desk = await createEngine(flowPack);
  const start = await desk.run(await desk.call('scriptedTurn', 0));
  const next = await desk.run(await desk.call('scriptedTurn', 1));
  const found = await lint('{"name": "a", "tables": {"ce_rule": [{"rule_id": 1, "rule_type": "REGEX", "match_pattern": "(", "action": "SET_STATE"}]}}');
  const refused = await createEngine('[').catch((it) => it.code);
  await bakery.free();
  const freed = await bakery.call('hash').catch((it) => it.message);
  return {
    reply: outcome.payload.value, asked, failure, flow: [start, next].map((it) => it.outcome.flow.messages.map((it) => it.text).join()),
    issues: found.filter((it) => it.severity === 'error').map((it) => it.path), refused, freed,
  };
}

/** Installs the package like npm and uses it in Node.js. */
async function program() {
  const installed = join(folder, 'node_modules/convengine');
  await mkdir(installed, { recursive: true });
  await cp(packed, installed, { recursive: true });
  const script = join(folder, 'program.mjs');
  await writeFile(script, `export * from 'convengine'; export { runTurn as same } from 'convengine/turn-runner';`);
  const { createEngine, lint, runTurn } = await import(pathToFileURL(script).href);
  const pack = await readFile(join(example, 'pack.json'), 'utf8');
  const engine = await createEngine(pack);
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
  const desk = await createEngine(await readFile(flowPack, 'utf8'));
  const played = [];
  for (let turn = 0; turn < desk.scriptedTurns(); turn++) {
    const { outcome } = await runTurn(desk, desk.scriptedTurn(turn));
    played.push([outcome.state, desk.turnHash()]);
  }
  print({ flow: played.map((it) => it[0]), hash: played.at(-1)[1], issues: (await lint(pack)).length });
  await writeFile(join(folder, 'typed.ts'), TYPED);
  const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url));
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom,esnext.disposable'];
  const check = spawnSync(process.execPath, [compiler, ...options, join(folder, 'typed.ts')], { cwd: folder, encoding: 'utf8' });
  print({ types: check.stdout });
}

function print(line) {
  console.log(JSON.stringify(line));
}

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
  import { conversation, createEngine, lint, runTurn, type ConversationAnswer, type EffectHandler } from 'convengine';
  import { fromModules } from 'convengine/edge';
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
  export async function converse(pack: object, engine: WebAssembly.Module): Promise<ConversationAnswer> {
    const chat = fromModules({ engine }).conversation(pack, { effects: { task: ({ task }) => (task === 'a:b' ? { ok: { kind: 'task' } } : undefined) } });
    await chat.start({ locale: 'de' });
    const { text, status, messages } = await chat.send({ flow: { type: 'user.button', button_id: 'yes' } });
    return conversation(pack).send({ message: text + status + messages[0]?.text, input_params: { a: 1 } });
  }
  // @ts-expect-error there are no such effects
  conversation('', { effects: { model: () => undefined } });
  // @ts-expect-error a message needs a text or an event
  void conversation('').send({});
  // @ts-expect-error a message needs a text or an event
  void createEngine('').then((it) => runTurn(it, {}));
`;

/** Plays the pack of the example in a runtime that neither fetches nor compiles. */
const EDGE = `
  import { readFile } from 'node:fs/promises';
  import { fromModules } from 'convengine/edge';
  const engine = await WebAssembly.compile(await readFile(new URL(import.meta.resolve('convengine/engine.wasm'))));
  const pack = JSON.parse(await readFile(process.argv[2], 'utf8'));
  const refuse = (name) => () => { throw new Error(name + ' is not available'); };
  // The fetch of Node.js is loaded by its first use, and compiles a module then.
  await fetch('data:,');
  globalThis.fetch = refuse('fetch');
  WebAssembly.compile = refuse('compile');
  const { conversation, lint } = fromModules({ engine });
  const { text } = await conversation(pack).send('Is there bread left?');
  console.log(JSON.stringify([text, await lint(pack).catch((it) => it.message)]));
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
  const bakery = await createEngine(await (await fetch('./pack.json')).json());
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
  const { conversation, createEngine, lint, runTurn } = await import(pathToFileURL(script).href);
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
  print({ conversation: await converse(conversation, JSON.parse(pack), await readFile(flowPack, 'utf8')) });
  await writeFile(join(folder, 'edge.mjs'), EDGE);
  const options = ['--disallow-code-generation-from-strings', join(folder, 'edge.mjs'), join(example, 'pack.json')];
  const edge = spawnSync(process.execPath, options, { cwd: folder, encoding: 'utf8' });
  print({ edge: edge.status === 0 ? JSON.parse(edge.stdout) : edge.stderr });
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
  const checked = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom,esnext.disposable'];
  const check = spawnSync(process.execPath, [compiler, ...checked, join(folder, 'typed.ts')], { cwd: folder, encoding: 'utf8' });
  print({ types: check.stdout });
}

/** Uses conversations, with a pack as an object, without its script, and of a flow document. */
async function converse(conversation, pack, flowPack) {
  const { tasks, ...bare } = pack;
  const question = 'Is there bread left?';
  const task = (request) => ({ ok: { kind: 'task', set_params: { loaves: request.task.length, price: 2.5 } } });
  const handled = conversation(bare, { effects: { task } });
  const broken = conversation(bare, { effects: { task: () => Promise.reject(new Error('no shelf')) } });
  const without = conversation(bare);
  const first = without.send(question);
  const second = await without.send(question).catch((it) => [it.code, it.message]);
  await first;
  const [{ outcome }] = (await without.engine).exchanges();
  const desk = conversation(flowPack);
  const start = await desk.start({ locale: 'en-US' });
  const next = await desk.send('account balance please');
  return {
    scripted: (await conversation({ ...bare, tasks }).send(question)).text,
    handled: [(await handled.send(question)).text, (await handled.send({ message: 'Thank you' })).intent, handled.id === (await handled.send(question)).outcome.conversation_id],
    broken: [await broken.send(question).catch((it) => it.message), (await broken.send('When do you open?')).success],
    second, unsupported: JSON.parse(outcome).error.kind,
    flow: [start.text, start.status, next.text, next.awaiting.kind],
    refused: await conversation('[').send(question).catch((it) => it.code),
  };
}

function print(line) {
  console.log(JSON.stringify(line));
}

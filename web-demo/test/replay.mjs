/**
 * Measures how many turns per second the browser engine replays, and what a turn takes with its scripted effects, in a real Chromium.
 *
 *   node test/replay.mjs PACK.json SECONDS
 *
 * Prints one JSON line, `{"journals", "replayed", "turn_us"}`: the number of journals, turns per second, and the median of microseconds that
 * a turn takes from its message to its end.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { withPage } from './chromium.mjs';

const ENGINE = new URL('../src/wasm/', import.meta.url);
const TYPES = { js: 'text/javascript', wasm: 'application/wasm' };
const PAGE = `<!doctype html><title>replay</title><link rel="icon" href="data:,"><script type="module">
  import init, { Engine } from './convengine_wasm.js';
  globalThis.convengine = { Engine, ready: init().then(() => true) };
</script>`;

const [file, seconds] = process.argv.slice(2);
const pack = await readFile(file, 'utf8');
const server = createServer(async (request, response) => {
  const name = /^\/(convengine_wasm(?:_bg)?\.(js|wasm))$/.exec(request.url);
  response.setHeader('Content-Type', name ? TYPES[name[2]] : 'text/html');
  response.end(name ? await readFile(new URL(name[1], ENGINE)) : PAGE);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
await withPage(`http://127.0.0.1:${server.address().port}/`, {}, async (page) => {
  console.log(JSON.stringify(await page.evaluate(replayed, [pack, Number(seconds) * 1000])));
});
server.close();

/** Runs in the page. */
async function replayed([pack, milliseconds]) {
  await globalThis.convengine.ready;
  let engine = new globalThis.convengine.Engine(pack);
  const journals = [];
  const took = [];
  const play = (turn) => {
    const { text } = engine.scriptedTurn(turn);
    const begin = performance.now();
    let slice = JSON.parse(engine.start(text));
    while (!slice.end) {
      const completions = slice.effects.map(({ id }) => engine.answer(id).completion);
      slice = JSON.parse(engine.resume(`[${completions.join()}]`));
    }
    took.push(performance.now() - begin);
  };
  const until = performance.now() + milliseconds;
  while (performance.now() < until) {
    engine.free();
    engine = new globalThis.convengine.Engine(pack);
    for (let turn = 0; turn < engine.scriptedTurns(); turn += 1) {
      play(turn);
      if (journals.length <= turn) journals.push(engine.journal());
    }
  }
  // A replay returns the slices of a turn as one, so that its hash is that of another replay.
  const hashes = journals.map((journal) => {
    engine.restore(journal);
    return engine.turnHash();
  });
  const begin = performance.now();
  let turns = 0;
  let spent = 0;
  while (spent < milliseconds) {
    engine.restore(journals[turns % journals.length]);
    if (engine.turnHash() !== hashes[turns % journals.length]) throw new Error('a turn was replayed to another end');
    turns += 1;
    spent = performance.now() - begin;
  }
  took.sort((a, b) => a - b);
  const median = Math.round(took[Math.floor(took.length / 2)] * 1000);
  return { journals: journals.length, replayed: Math.round((turns * 1000) / spent), turn_us: median };
}

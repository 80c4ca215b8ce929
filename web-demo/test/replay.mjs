/**
 * Measures how many turns per second the browser engine replays, in a real Chromium.
 *
 *   node test/replay.mjs PACK.json SECONDS
 *
 * The turns of the pack must request no effects. Prints one JSON line, `{"journals", "replayed"}`: the number of journals, and turns
 * per second.
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
function replayed([pack, milliseconds]) {
  const engine = new globalThis.convengine.Engine(pack);
  const journals = [];
  for (let turn = 0; turn < engine.scripted_turns(); turn += 1) {
    const { end, effects } = JSON.parse(engine.start(engine.scripted_turn(turn)));
    if (!end) throw new Error(`turn ${turn + 1} asks for ${effects.length} effects`);
    journals.push([engine.journal(), engine.turn_hash()]);
  }
  const begin = performance.now();
  let turns = 0;
  let took = 0;
  while (took < milliseconds) {
    const [journal, hash] = journals[turns % journals.length];
    engine.restore(journal);
    if (engine.turn_hash() !== hash) throw new Error('a turn was replayed to another end');
    turns += 1;
    took = performance.now() - begin;
  }
  return { journals: journals.length, replayed: Math.round((turns * 1000) / took) };
}

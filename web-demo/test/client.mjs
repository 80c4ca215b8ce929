/**
 * Holds the acceptance list with the client in `tests/client`, in a real Chromium, in all its ways.
 *
 *   node test/client.mjs SERVER_URL [--transport NAME]… [--origin cross|same]… [--mode NAME]… [--screenshots FOLDER]
 *   node test/client.mjs SERVER_URL --way TRANSPORT,ORIGIN,MODE…
 *
 * Prints a JSON line for each way, `{"transport","origin","mode","held"}`: the rows of the list that hold. Ends with exit code 1 and a
 * line on standard error for each row that does not, or when the page writes an error to its console.
 */
import { parseArgs } from 'node:util';
import { serve } from '../../tests/client/serve.mjs';
import { launch, openContext } from './chromium.mjs';
import { Chat, MODES } from './client/chat.mjs';
import { ROWS } from './client/rows.mjs';

const TRANSPORTS = ['sse', 'stomp', 'websocket', 'none'];
const ORIGINS = ['cross', 'same'];
/** Pages that are open at once. */
const SIDE_BY_SIDE = 4;

const many = (fallback) => ({ type: 'string', multiple: true, default: fallback });
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { transport: many(TRANSPORTS), origin: many(ORIGINS), mode: many(MODES), way: many([]), screenshots: { type: 'string' } },
});
const engine = positionals[0].replace(/\/+$/, '');
const { origin: elsewhere, stop } = await serve(engine);
const browser = await launch();

const product = () =>
  options.transport.flatMap((transport) => options.origin.flatMap((origin) => options.mode.map((mode) => ({ transport, origin, mode }))));
const named = options.way.map((it) => it.split(',')).map(([transport, origin, mode]) => ({ transport, origin, mode }));
const ways = named.length > 0 ? named : product();
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
await browser.close();
stop();

async function work() {
  for (let way = ways.shift(); way; way = ways.shift()) await hold(way);
}

/** All rows of a way, each after the one before it, in one page: as somebody would use it. */
async function hold(way) {
  // A browser allows six connections to a server in each of its contexts.
  const context = await openContext(browser, { viewport: { width: 1280, height: 800 } });
  const held = [];
  const chat = new Chat(context, { ...way, engine, elsewhere, screenshots: options.screenshots });
  try {
    await chat.open();
    for (const [name, row] of Object.entries(ROWS)) {
      await row(chat).catch((error) => {
        throw new Error(`${name}: ${error.message.split('\n').slice(0, 10).join(' ')}`);
      });
      held.push(name);
    }
    if (chat.complaints.length > 0) throw new Error(`the page complained: ${chat.complaints.join('; ')}`);
  } catch (error) {
    console.error(`${way.transport}, ${way.origin} origin, ${way.mode}: ${[error.message, ...chat.complaints].join('; ')}`);
    await chat.picture('failed').catch(() => {});
    process.exitCode = 1;
  } finally {
    await context.close();
  }
  console.log(JSON.stringify({ ...way, held }));
}

// @ts-check
/**
 * A tool of an assistant, served over HTTP with nothing but Node.js 20.
 *
 * Run it with `PICKUP_KEY=a-long-secret node task.mjs 9001`. The types stand in comments, which TypeScript checks: Node.js 20 runs the file as
 * it is.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

/** @typedef {{ day: string }} Pickup the body of the request, as the tool's `request` in pickup.json has it */
/** @typedef {{ number: string }} Receipt the answer, of which the tool's `outputs` take the number */

const KEY = process.env.PICKUP_KEY;
if (!KEY) throw new Error('PICKUP_KEY is not set');

/** The receipts by their idempotency keys. A service that must survive a restart keeps them in its database.
 * @type {Map<string, Receipt>} */
const receipts = new Map();

/**
 * Whether the body was signed with the key that both sides have.
 * @param {Buffer} body
 * @param {string} signature
 */
function isSigned(body, signature) {
  const expected = Buffer.from(`sha256=${createHmac('sha256', /** @type {string} */ (KEY)).update(body).digest('hex')}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/**
 * Books a pickup, unless this call has booked one already: the engine repeats a call with the key that it had.
 * @param {Pickup} pickup
 * @param {string} key
 * @returns {Receipt}
 */
function collect(pickup, key) {
  const receipt = receipts.get(key) ?? { number: `P-${receipts.size + 1}` };
  console.log(`${receipts.has(key) ? 'again' : 'new'}: ${receipt.number} on ${pickup.day}`);
  receipts.set(key, receipt);
  return receipt;
}

const server = createServer(async (request, response) => {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const answer = (/** @type {number} */ status, /** @type {object} */ value) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  const key = String(request.headers['idempotency-key'] ?? '');
  if (!isSigned(body, String(request.headers['x-convoship-signature'] ?? ''))) return answer(401, { error: 'the signature is wrong' });
  if (request.method !== 'POST' || request.url !== '/pickups' || !key) return answer(400, { error: 'expected POST /pickups with a key' });
  try {
    return answer(200, collect(JSON.parse(body.toString()), key));
  } catch {
    return answer(400, { error: 'the body is not JSON' });
  }
});

server.listen(Number(process.argv[2] ?? 9001), '127.0.0.1', () => {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`Pickups on http://127.0.0.1:${address.port}`);
});

/** A loopback server that sends prepared responses, byte for byte. */
import { createServer } from 'node:net';

/**
 * Sends the first response to the first request, and so on; the last one repeats. Requests below `/at/N` get response N.
 *
 * @param answers each `{bytes, stays}`; one that stays leaves its connection open after the last byte
 */
export async function loopback(answers) {
  const got = [];
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    let read = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      read = Buffer.concat([read, bytes]);
      const call = whole(read);
      if (!call) return;
      read = Buffer.alloc(0);
      got.push(call);
      const number = /^\/at\/(\d+)\//.exec(call.path)?.[1] ?? got.length - 1;
      const answer = answers[number] ?? answers.at(-1);
      if (answer.stays) socket.write(answer.bytes);
      else socket.end(answer.bytes);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    sockets.forEach((it) => it.destroy());
  };
  return { address: `http://127.0.0.1:${server.address().port}`, got, close };
}

/** Returns a response with its length. */
export function sent(status, body, headers = {}) {
  const bytes = Buffer.from(body);
  const all = { ...headers, 'Content-Length': bytes.length, Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return { bytes: Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n`), bytes]) };
}

/** Returns a response that ends with its connection, so that only its own end marker shows that it is complete. */
export function untilTheEnd(body) {
  return { bytes: Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'), Buffer.from(body)]) };
}

/** Returns a chunked response, after which the connection accepts another request. */
export function chunked(pieces) {
  const head = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  const chunks = pieces.filter((it) => it.length > 0).flatMap((it) => [`${it.length.toString(16)}\r\n`, it, '\r\n']);
  return { bytes: Buffer.concat([head, ...chunks.map((it) => Buffer.from(it)), Buffer.from('0\r\n\r\n')]), stays: true };
}

function whole(bytes) {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(lines.map((it) => it.split(/: (.*)/s, 2)).map(([name, value]) => [name.toLowerCase(), value]));
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined;
  const [method, path] = first.split(' ');
  return { method, path, headers, body: body.toString() };
}

/** The files of the client on a free port of loopback; what is the engine's goes on to it, as a proxy before both does. */
import { readFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { extname } from 'node:path';

const HERE = new URL('.', import.meta.url);
const PACKAGES = new URL('../../web-demo/node_modules/', HERE);
const LIBRARIES = {
  'lib/stomp.js': '@stomp/stompjs/bundles/stomp.umd.min.js',
  'lib/sockjs.js': 'sockjs-client/dist/sockjs.min.js',
};
const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.css': 'text/css' };

/** What is the engine's. */
export const isOfEngine = (path) => path.startsWith('/api/') || path.startsWith('/ws-convengine');

/** Serves the files; answers the origin and how to stop. */
export async function serve(engine) {
  const { hostname, port } = new URL(engine);
  const server = createServer(async (incoming, response) => {
    if (isOfEngine(incoming.url)) return forward(incoming, response, { hostname, port });
    const found = await file(new URL(incoming.url, 'http://client').pathname);
    if (!found) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.contentType }).end(found.body);
  });
  server.on('upgrade', (incoming, socket, head) => tunnel(incoming, socket, head, { host: hostname, port }));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${server.address().port}`, stop };
}

/** A file of the client by its path in an address: its content and its type; nothing when there is none. */
async function file(path) {
  const name = path.replace(/^\/+/, '') || 'index.html';
  if (!/^(lib\/)?[a-z]+\.[a-z]+$/.test(name)) return undefined;
  const url = LIBRARIES[name] ? new URL(LIBRARIES[name], PACKAGES) : new URL(name, HERE);
  const body = await readFile(url).catch(() => undefined);
  return body && { body, contentType: `${TYPES[extname(name)]}; charset=utf-8` };
}

/** The headers stay as they are: to the engine the page has its own origin. */
function forward(incoming, response, engine) {
  const { method, url: path, headers } = incoming;
  const outgoing = request({ ...engine, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function tunnel({ method, url, rawHeaders }, socket, head, engine) {
  const upstream = connect(engine, () => {
    const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : []));
    upstream.write(`${[`${method} ${url} HTTP/1.1`, ...pairs].join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  });
  [upstream, socket].forEach((it) => it.on('error', () => [upstream, socket].forEach((each) => each.destroy())));
}

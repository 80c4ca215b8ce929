/** The files of the client on a free port of loopback. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';

const HERE = new URL('.', import.meta.url);
const PACKAGES = new URL('../../web-demo/node_modules/', HERE);
const LIBRARIES = {
  'lib/stomp.js': '@stomp/stompjs/bundles/stomp.umd.min.js',
  'lib/sockjs.js': 'sockjs-client/dist/sockjs.min.js',
};
const TYPES = { '.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.css': 'text/css' };

/** A file of the client by its path in an address: its content and its type; nothing when there is none. */
export async function file(path) {
  const name = path.replace(/^\/+/, '') || 'index.html';
  if (!/^(lib\/)?[a-z]+\.[a-z]+$/.test(name)) return undefined;
  const url = LIBRARIES[name] ? new URL(LIBRARIES[name], PACKAGES) : new URL(name, HERE);
  const body = await readFile(url).catch(() => undefined);
  return body && { body, contentType: `${TYPES[extname(name)]}; charset=utf-8` };
}

/** Serves the files; answers the origin and how to stop. */
export async function serve() {
  const server = createServer(async ({ url }, response) => {
    const found = await file(new URL(url, 'http://client').pathname);
    if (!found) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': found.contentType }).end(found.body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

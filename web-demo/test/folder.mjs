/** A static file server, like any host of static pages. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/**
 * Serves a folder below a path.
 *
 * @param folder the files
 * @param below the base path of the page, such as `/tools/`
 * @param port the port, or 0 for any free one
 * @param compressed whether to send precompressed files
 * @param link the simulated link that files are sent over
 * @param other answers requests for paths without a file
 */
export async function serveFolder(folder, { below = '/', port = 0, compressed = false, link, other = () => undefined } = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://host');
    const name = pathname.startsWith(below) ? pathname.slice(below.length) || 'index.html' : '';
    const found = name.includes('..') ? undefined : await file(join(folder, name), compressed);
    const text = found ? undefined : other(pathname);
    if (!found && text === undefined) return void response.writeHead(404).end();
    response.setHeader('Content-Type', TYPES[found ? extname(name) : '.json'] ?? 'application/octet-stream');
    response.setHeader('Cache-Control', name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
    if (found?.brotli) response.setHeader('Content-Encoding', 'br');
    response.setHeader('Content-Length', found ? found.bytes.length : Buffer.byteLength(text));
    if (found && link) await link.carry(found.bytes, response);
    else response.end(found ? found.bytes : text);
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { address: `http://127.0.0.1:${server.address().port}${below}`, port: server.address().port, close };
}

async function file(path, compressed) {
  const read = (it) => readFile(it).catch(() => undefined);
  const brotli = compressed ? await read(`${path}.br`) : undefined;
  const bytes = brotli ?? (await read(path));
  return bytes && { bytes, brotli: brotli !== undefined };
}

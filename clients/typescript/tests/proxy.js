import { createServer } from 'node:http';

/** Serves `answer(request, response)` on a free port until the test ends; returns the address. */
export async function serve(test, answer) {
  const server = createServer(answer);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A proxy that loses the connection in place of the first responses to POST requests: the turn runs, and its client does not hear of it. */
export function lossyProxy(test, target, { lost = 1, after = 0 } = {}) {
  let left = lost;
  return serve(test, async (request, response) => {
    const body = await new Response(request, { duplex: 'half' }).text();
    const { headers, method } = request;
    const answer = await fetch(target + request.url, { method, headers: { ...headers, connection: 'close' }, body: body || undefined });
    const text = await answer.text();
    if (method === 'POST' && left-- > 0) {
      if (after > 0) {
        response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') });
        await new Promise((resolve) => response.write(text.slice(0, text.indexOf('\n\n', after) + 2), resolve));
      }
      return request.socket.destroy();
    }
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') });
    response.end(text);
  });
}

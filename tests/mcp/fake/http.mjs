// Streamable HTTP: sessions up to 2025-11-25, none from 2026-07-28.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

import { cancel, errorOf, handle, isStateless, requestVersion } from './protocol.mjs';

export async function serveHttp(server, port) {
  const sessions = new Map();
  const listener = createServer((request, response) => answer(server, sessions, request, response));
  await new Promise((resolve) => listener.listen(Number(port), '127.0.0.1', resolve));
  // Where redirects lead: whoever comes here has followed one.
  const elsewhere = createServer((request, response) => {
    server.log({ event: 'redirected', authorization: request.headers.authorization ?? null });
    response.writeHead(204).end();
  });
  await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  server.elsewhere = `http://127.0.0.1:${elsewhere.address().port}/mcp`;
  server.address = `http://127.0.0.1:${listener.address().port}`;
  console.log(`listening on ${server.address}/mcp`);
}

async function answer(server, sessions, request, response) {
  const { headers, method, url } = request;
  if (!url.startsWith('/mcp')) {
    server.log({ event: 'other_path', path: url });
    return refuse(response, 404, 'no such page');
  }
  if (server.faults.is('redirect')) return response.writeHead(307, { location: server.elsewhere }).end();
  const { token } = server.options;
  if (server.faults.is('unauthorized') || (token !== undefined && headers.authorization !== `Bearer ${token}`)) {
    const metadata = `${server.address}/.well-known/oauth-protected-resource`;
    response.setHeader('www-authenticate', `Bearer error="invalid_token", resource_metadata="${metadata}"`);
    return refuse(response, 401, 'unauthorized');
  }
  const session = sessions.get(headers['mcp-session-id']);
  if (method === 'GET' && session !== undefined) return stream(server, session, response);
  if (method === 'DELETE' && session !== undefined) {
    sessions.delete(headers['mcp-session-id']);
    return response.writeHead(204).end();
  }
  if (method !== 'POST') return response.writeHead(405, { allow: 'POST' }).end();
  let message;
  try {
    message = JSON.parse(await body(request));
  } catch {
    return json(response, 400, errorOf(null, -32700, 'parse error'));
  }
  const peer = peerOf(server, sessions, session, request, response, message);
  if (peer !== null) await exchange(server, peer, message, response);
}

/** The client of a request, or null when the request is refused. */
function peerOf(server, sessions, session, { headers }, response, message) {
  const own = requestVersion(message);
  const modern = own !== undefined || message.method === 'server/discover';
  if (modern && server.revisions.some(isStateless)) {
    const mismatch = headerMismatch(headers, message, own);
    if (mismatch === null) return newPeer(headers);
    json(response, 400, errorOf(message.id, -32020, mismatch));
    return null;
  }
  if (message.method === 'initialize') {
    const created = newPeer(headers);
    const id = randomUUID();
    created.begin = () => {
      sessions.set(id, created);
      response.setHeader('mcp-session-id', id);
    };
    return created;
  }
  if (session === undefined) {
    const known = headers['mcp-session-id'] !== undefined;
    json(response, known ? 404 : 400, errorOf(message.id ?? null, known ? -32001 : -32000, known ? 'session not found' : 'no valid session id'));
    return null;
  }
  const version = headers['mcp-protocol-version'];
  if (version !== undefined && version !== session.version) {
    json(response, 400, errorOf(message.id ?? null, -32000, `unsupported protocol version: ${version}`));
    return null;
  }
  session.authorization = headers.authorization;
  return session;
}

function newPeer(headers) {
  return { version: null, transport: 'http', authorization: headers.authorization, pending: new Map(), asked: new Map(), streams: new Set() };
}

function headerMismatch(headers, message, own) {
  if (headers['mcp-protocol-version'] !== own) return `the header MCP-Protocol-Version is not '${own}'`;
  if (headers['mcp-method'] !== message.method) return `the header Mcp-Method is not '${message.method}'`;
  if (message.method !== 'tools/call') return null;
  const name = headers['mcp-name'] ?? '';
  const coded = /^=\?base64\?(.*)\?=$/.exec(name);
  const plain = coded === null ? name : Buffer.from(coded[1], 'base64').toString('utf8');
  return plain === message.params?.name ? null : `the header Mcp-Name is not '${message.params?.name}'`;
}

/** One request and what belongs to it. The answer becomes a stream when something comes before it. */
async function exchange(server, owner, message, response) {
  let streaming = false;
  const send = (data) => {
    if (!streaming) response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    streaming = true;
    response.write(`event: message\ndata: ${data}\n\n`);
  };
  const listeners = [];
  // A session is shared by its requests, but each of them has its own stream.
  const peer = Object.create(owner, {
    send: { value: (it) => send(JSON.stringify(it)) },
    subscribe: { value: (it) => listeners.push(it) && server.listeners.add(it) },
    version: { get: () => owner.version, set: (it) => (owner.version = it) },
  });
  response.on('close', () => {
    listeners.forEach((it) => server.listeners.delete(it));
    if (!response.writableFinished && message.method === 'tools/call') cancel(server, owner, message.id, 'the connection was closed');
  });
  const answer = await handle(server, peer, message);
  if (owner.begin !== undefined && owner.version !== null) {
    owner.begin();
    delete owner.begin;
  }
  if (answer === null) return response.writeHead(202).end();
  if (answer.how === 'never' || answer.how === 'stream') return;
  if (answer.how === 'exit') process.exit(1);
  if (answer.how === 'half') return half(response, answer.text);
  if (answer.how === 'slow') return dribble(response, answer.text);
  if (server.faults.is('garbage') && message.method.startsWith('tools/')) send('Listening on port 8080 {"jsonrpc": no');
  if (streaming) {
    send(answer.text);
    response.end();
  } else {
    json(response, isRefusal(answer.text, message) ? 400 : 200, answer.text);
  }
}

/** From 2026-07-28 on a refused revision is a bad request as well. */
function isRefusal(text, message) {
  return message.method !== 'tools/call' && text.length < 1000 && JSON.parse(text).error !== undefined;
}

function stream(server, session, response) {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.write(': open\n\n');
  const listener = () => response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })}\n\n`);
  server.listeners.add(listener);
  response.on('close', () => server.listeners.delete(listener));
}

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function json(response, status, message) {
  const text = typeof message === 'string' ? message : JSON.stringify(message);
  response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

function refuse(response, status, text) {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
}

function half(response, text) {
  const bytes = Buffer.from(text);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

function dribble(response, text) {
  let at = 0;
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(text[at++] ?? ' '), 1000);
  response.on('close', () => clearInterval(timer));
}

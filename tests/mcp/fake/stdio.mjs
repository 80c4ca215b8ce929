// Messages as lines over standard input and output.

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { handle } from './protocol.mjs';

export function serveStdio(server) {
  const peer = {
    version: null,
    transport: 'stdio',
    authorization: undefined,
    pending: new Map(),
    asked: new Map(),
    send: (message) => write(server, JSON.stringify(message)),
    subscribe: (listener) => server.listeners.add(listener),
  };
  server.listeners.add(() => {
    if (peer.version !== null) peer.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  });
  const lines = createInterface({ input: process.stdin });
  lines.on('line', async (line) => {
    if (line.trim() === '') return;
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      peer.send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } });
      return;
    }
    const answer = await handle(server, peer, message);
    if (answer !== null) await send(server, answer);
  });
  lines.on('close', () => process.exit(0));
}

async function send(server, answer) {
  switch (answer.how) {
    case 'never':
    case 'stream':
      return;
    case 'exit':
      process.exit(1);
      break;
    case 'half':
      process.stdout.write(answer.text.slice(0, answer.text.length / 2), () => process.exit(1));
      return;
    case 'slow':
      dribble(answer.text);
      return;
  }
  if (server.faults.is('noisy_stderr')) makeNoise();
  for (const { text } of server.injections().filter((it) => it.where === 'stderr')) writeSync(2, `${text}\n`);
  write(server, answer.text);
}

function write(server, text) {
  const garbage = server.faults.is('garbage');
  if (garbage) process.stdout.write('Listening on port 8080 {"jsonrpc": no\n');
  process.stdout.write(`${text}\n`);
  if (garbage) process.stdout.write('\u0007\u001b[31mwarning\u001b[0m: deprecated\n');
}

function dribble(text) {
  let at = 0;
  setInterval(() => process.stdout.write(text[at++] ?? ' '), 1000);
}

/** Fills the pipe of standard error; a client that does not read it never gets the answer. */
function makeNoise() {
  const line = Buffer.from(`${'noise '.repeat(170)}\n`);
  for (let written = 0; written < 8 * 1024 * 1024; ) {
    try {
      written += writeSync(2, line);
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
    }
  }
}

/** A server of a test, on a temporary database with a pack and a published assistant. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const BINARY = process.env.CONVENGINE ?? 'convengine';
const here = (name) => new URL(name, import.meta.url);

export const pack = JSON.parse(readFileSync(here('pack.json'), 'utf8'));
export const document = JSON.parse(readFileSync(here('document.json'), 'utf8'));

const SETTINGS = ['--set', 'convengine.flow.dialogueAct.resolute=REGEX_ONLY'];

/** A database with the pack, for a process that the client starts itself. */
export function prepare() {
  const folder = mkdtempSync(join(tmpdir(), 'convengine-mcp-'));
  const database = `sqlite:${join(folder, 'test.db')}`;
  run(['import', here('pack.json').pathname, '--database', database]);
  return { command: BINARY, args: ['mcp', '--database', database, ...SETTINGS], database, remove: () => rmSync(folder, { recursive: true }) };
}

/** A running server; without a key it is open. */
export async function start(withKey) {
  const { database, remove } = prepare();
  const key = withKey ? run(['key', 'create', '--name', 'test', '--scope', 'admin', '--database', database]).trim() : undefined;
  const mode = `convengine.security.mode=${withKey ? 'keys' : 'none'}`;
  const args = ['serve', '--listen', '127.0.0.1:0', '--database', database, '--set', mode, ...SETTINGS];
  const child = spawn(BINARY, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  const address = line.replace('convengine listening on ', '');
  const headers = { 'Content-Type': 'application/json', ...(key && { Authorization: `Bearer ${key}` }) };
  for (const [method, path, body] of [['PUT', 'flow', document], ['POST', 'publish', {}]]) {
    const response = await fetch(`${address}/v1/agents/${document.id}/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  }
  const stop = async () => {
    child.kill();
    await once(child, 'exit');
    remove();
  };
  return { url: `${address}/mcp`, key, stop };
}

function run(args) {
  const done = spawnSync(BINARY, args, { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`convengine ${args[0]}: ${done.error ?? done.stderr}`);
  return done.stdout;
}

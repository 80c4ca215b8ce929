/** Plays talks by the program that CONVENGINE names. */
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { playTalk, testTalks } from '@convengine/client/talks';

assert.ok(process.env.CONVENGINE, 'CONVENGINE is not set; `cargo test --test suite client_packages` sets it');
const corpus = new URL('../../../tests/talks/', import.meta.url);

const folder = await mkdtemp(join(tmpdir(), 'convengine-client-'));
test.after(() => rm(folder, { recursive: true, force: true }));
await mkdir(join(folder, 'below'));
await cp(new URL('config', corpus), join(folder, 'config'), { recursive: true });
await cp(new URL('order_kept.talk', corpus), join(folder, 'order_kept.talk'));
const kept = await readFile(new URL('order_kept.talk', corpus), 'utf8');
const wrong = kept.replace('config config/', 'config ../config/').replace('< Then order 48392 stays as it is.', '< It is "cancelled" & gone.');
await writeFile(join(folder, 'below/wrong.talk'), wrong);

// The talks of the folder become tests of this file.
testTalks(folder, (name, run, timeoutMs) => (name.endsWith('wrong.talk') ? undefined : test(name, run, timeoutMs)));

test('each talk of a folder is a test, and one that fails says why', async () => {
  const found = new Map();
  testTalks(folder, (name, run) => found.set(name, run));
  assert.deepEqual([...found.keys()], [join('below', 'wrong.talk'), 'order_kept.talk']);
  const difference = /reply: "It is \\?"cancelled\\?" & gone\." became "Then order 48392 stays as it is\."/;
  await assert.rejects(found.get(join('below', 'wrong.talk'))(), difference);
});

test('what cannot be played fails', async () => {
  await assert.rejects(playTalk(join(folder, 'nowhere.talk')), /nowhere\.talk/);
  assert.throws(() => testTalks(join(folder, 'config'), test), /no talks in/);
  const { CONVENGINE } = process.env;
  process.env.CONVENGINE = join(folder, 'no-program');
  await assert.rejects(playTalk(join(folder, 'order_kept.talk')), /cannot find .*no-program/);
  process.env.CONVENGINE = CONVENGINE;
});

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** How long one talk may take. */
const TIMEOUT_MS = 60_000;

/** Makes a test of each talk below a folder, by the function `test` of Vitest, Jest or `node:test`. */
export function testTalks(folder, test) {
  const root = folder instanceof URL ? fileURLToPath(folder) : folder;
  const talks = findTalks(root);
  if (talks.length === 0) throw new Error(`no talks in '${root}': add a file that ends with .talk`);
  for (const name of talks) test(name, () => playTalk(join(root, name)), TIMEOUT_MS);
}

/** Plays a talk; rejects with the differences from its expectations. */
export async function playTalk(file) {
  const program = process.env.CONVENGINE || 'convengine';
  const folder = await mkdtemp(join(tmpdir(), 'convengine-talk-'));
  const report = join(folder, 'report.xml');
  try {
    await run(program, ['test', '--junit', report, file], report);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function findTalks(root) {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.talk')).sort();
}

function run(program, parameters, report) {
  return new Promise((resolve, reject) => {
    execFile(program, parameters, async (error, _stdout, stderr) => {
      if (!error) resolve();
      else if (error.code === 'ENOENT') reject(new Error(`cannot find '${program}': install ConvEngine, or name the program in CONVENGINE`));
      else reject(new Error((await readFailures(report)) || stderr.trim() || error.message));
    });
  });
}

/** Returns the text of the failures in a JUnit report; an empty one without a report. */
async function readFailures(report) {
  const text = await readFile(report, 'utf8').catch(() => '');
  return [...text.matchAll(/<failure[^>]*>(.*?)<\/failure>/gs)].map((found) => unescape(found[1])).join('\n');
}

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescape(text) {
  return text.replaceAll(/&(#x?[0-9a-f]+|\w+);/gi, (whole, name) => {
    if (name[0] !== '#') return ENTITIES[name] ?? whole;
    return String.fromCodePoint(name[1] === 'x' ? parseInt(name.slice(2), 16) : Number(name.slice(1)));
  });
}

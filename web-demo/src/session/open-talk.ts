/** Opens a talk: plays it on the pack that it names, and checks its expectations. */
import { packFileName } from '../config/files';
import { plural } from '../plural';
import { findSample } from '../samples';
import type { Simulator } from '../simulator.svelte';
import type { ImportResult } from './import';
import { findPersonalData } from './personal-data';
import { checkTurn } from './talk-check';
import { talkLabels, talkPack } from './talk-pack';
import { isTalk, parseTalk, type ParsedTalk } from './talk-reader';
import type { FinishedTurn } from './turn-data';

/** A file that was read as text. */
export interface TextFile {
  name: string;
  text: string;
}

/** Whether a file is a talk. */
export function isTalkFile({ name, text }: TextFile): boolean {
  return /\.talk$/i.test(name) || (!/\.(json|sql)$/i.test(name) && isTalk(text));
}

/** Opens a talk; its pack may be among the other files. */
export async function openTalk(simulator: Simulator, { text }: TextFile, others: TextFile[]): Promise<ImportResult> {
  const talk = parseTalk(text);
  const { config, note } = await findConfig(simulator, talk, others);
  const labels = talkLabels(talk);
  const ids = await simulator.client.conversationIds(labels);
  await simulator.openPack(talkPack(talk, config, new Map(labels.map((it, index) => [it, ids[index] ?? '']))));
  if (simulator.failure) throw simulator.failure;
  const isCurrent = simulator.sessionCheck();
  await simulator.playPack();
  if (!isCurrent()) throw new Error('another session was opened while the talk was played; open it again');
  return { ...checkTalk(simulator, talk, note), personalData: findPersonalData([text]) };
}

/** Finds the pack of a talk: among the files, else the open pack or a sample of that name, else the open pack. */
async function findConfig(simulator: Simulator, { config }: ParsedTalk, others: TextFile[]): Promise<{ config: string; note?: string }> {
  const base = config.split('/').at(-1) ?? config;
  const given = others.find((it) => it.name === base) ?? others.find((it) => /\.json$/i.test(it.name));
  if (given) return { config: given.text };
  if (packFileName(simulator.pack) === base) return { config: simulator.pack };
  const sample = await findSample(base.replace(/\.json$/, ''))?.load();
  if (sample !== undefined) return { config: sample };
  return { config: simulator.pack, note: `The talk names the pack '${base}'. It was played on the open pack; to use that file, open it together with the talk.` };
}

function checkTalk(simulator: Simulator, { turns }: ParsedTalk, note: string | undefined): Omit<ImportResult, 'personalData'> {
  const { path } = simulator.tree;
  const results = turns.map(({ checks }, index) => {
    const { input, exchanges, record, error } = path[index] ?? {};
    if (!record || !input) return { failed: [error?.message ?? 'it was not played'], skipped: [] };
    return checkTurn({ input, exchanges: exchanges ?? [], outcome: record.outcome, notices: record.notices } satisfies FinishedTurn, checks);
  });
  const failed = results.flatMap((it, index) => it.failed.map((reason) => `Turn ${index + 1}: ${reason}`));
  const skipped = results.reduce((sum, it) => sum + it.skipped.length, 0);
  const matching = results.filter((it) => it.failed.length === 0).length;
  const verdict =
    matching === turns.length
      ? `The talk was played, and ${turns.length === 1 ? 'its turn meets' : `all ${turns.length} turns meet`} its checks.`
      : `The talk was played. ${plural(turns.length - matching, 'turn')} of ${turns.length} ${turns.length - matching === 1 ? 'does' : 'do'} not meet the checks.`;
  const left = skipped > 0 ? [`${plural(skipped, 'check')} of values that this page does not know ${skipped === 1 ? 'was' : 'were'} left out; convengine test has them all.`] : [];
  return { verdict, turns: turns.length, matching, notes: [...failed, ...left, ...(note ? [note] : [])] };
}

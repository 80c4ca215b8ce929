import type { Seen, Why } from '../types';
import { stepOf } from './step-of';

/** A longer sentence is none to hear at each place of a slider. */
const SENTENCE = 80;

/** Names what was decided in a step, in a few words: the rows that won or matched, else the last verdict. Empty when there is none. */
export function decision({ steps, whys }: Pick<Seen, 'steps' | 'whys'>, step: number): string {
  const here = whys.filter((it) => stepOf(steps, it) === step);
  const rows = here.flatMap(deciding);
  const kinds = new Set(rows.map((it) => `${it.noun}/${it.verdict}`));
  if (rows.length > 0) return [...kinds].map((kind) => said(rows.filter((it) => `${it.noun}/${it.verdict}` === kind))).join(', ');
  const verdict = here.findLast((it) => it.verdict)?.verdict ?? '';
  const short = verdict.length > SENTENCE ? `${verdict.slice(0, SENTENCE - 1)}…` : verdict;
  return short.charAt(0).toLowerCase() + short.slice(1);
}

interface Deciding {
  noun: string;
  id: string;
  verdict: string;
}

/** The gates of the planner match where they are in the way, and a setting is no row that decides. */
function deciding({ topic, rows = [] }: Why): Deciding[] {
  if (topic === 'planner') return [];
  return rows
    .filter((it) => ['won', 'matched'].includes(it.verdict) && it.table && it.table !== 'ce_config' && (it.id ?? null) !== null)
    .map(({ table, id, verdict }) => ({ noun: table.replace(/^ce_/, '').replaceAll('_', ' '), id: String(id), verdict }));
}

function said(rows: Deciding[]): string {
  const [first] = rows;
  const ids = [...new Set(rows.map((it) => it.id))];
  const last = ids.pop();
  return `${first?.noun}${ids.length > 0 ? 's' : ''} ${ids.length > 0 ? `${ids.join(', ')} and ` : ''}${last} ${first?.verdict}`;
}

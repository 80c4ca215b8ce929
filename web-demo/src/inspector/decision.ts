import type { TurnDetails, Explanation } from '../types';
import { findStep } from './find-step';

/** Longer sentences are clipped: they are read out at each position of a slider. */
const MAX_CHARS = 80;

/** Describes what a step decided: the rows that won or matched, else the last verdict. Empty when there is none. */
export function describeDecision({ steps, explanations }: Pick<TurnDetails, 'steps' | 'explanations'>, step: number): string {
  const here = explanations.filter((it) => findStep(steps, it) === step);
  const rows = here.flatMap(decidingRows);
  const kinds = new Set(rows.map((it) => `${it.noun}/${it.verdict}`));
  if (rows.length > 0) return [...kinds].map((kind) => describeRows(rows.filter((it) => `${it.noun}/${it.verdict}` === kind))).join(', ');
  const verdict = here.findLast((it) => it.verdict)?.verdict ?? '';
  const short = verdict.length > MAX_CHARS ? `${verdict.slice(0, MAX_CHARS - 1)}…` : verdict;
  return short.charAt(0).toLowerCase() + short.slice(1);
}

interface DecidingRow {
  noun: string;
  id: string;
  verdict: string;
}

/** Returns the rows that decided; planner gates match when they block, and settings are not rows. */
function decidingRows({ topic, rows = [] }: Explanation): DecidingRow[] {
  if (topic === 'planner') return [];
  return rows
    .filter((it) => ['won', 'matched'].includes(it.verdict) && it.table && it.table !== 'ce_config' && (it.id ?? null) !== null)
    .map(({ table = '', id, verdict }) => ({ noun: table.replace(/^ce_/, '').replaceAll('_', ' '), id: String(id), verdict }));
}

function describeRows(rows: DecidingRow[]): string {
  const [first] = rows;
  const ids = [...new Set(rows.map((it) => it.id))];
  const last = ids.pop();
  return `${first?.noun}${ids.length > 0 ? 's' : ''} ${ids.length > 0 ? `${ids.join(', ')} and ` : ''}${last} ${first?.verdict}`;
}

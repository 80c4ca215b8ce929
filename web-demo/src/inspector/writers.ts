import { diffRows, type DiffRow } from '../diff';
import { withoutContextCopy } from '../session-summary';
import { formatStepName } from '../timeline/step-name';
import type { Json, Notice, TurnRecord } from '../types';
import type { SessionCache } from './sessions';

/** The last writer of each session path. */
export type Writers = ReadonlyMap<string, string>;

/** Finds the step or rule that last wrote each path of the session. */
export async function findWriters(record: TurnRecord, step: number | undefined, sessions: SessionCache): Promise<Writers> {
  const indexes = step === undefined ? record.steps.flatMap((it, index) => (it.changed ? [index] : [])) : [step];
  const out = new Map<string, string>();
  for (const index of indexes) {
    const { before, after } = await sessions.aroundStep(record.turn, index);
    const info = record.steps[index];
    if (!after || !info) continue;
    const until = record.steps[index + 1]?.seq ?? Infinity;
    const notices = record.notices.filter((it) => it.seq >= info.seq && it.seq < until);
    for (const row of changedRows(diffRows(withoutContextCopy(before), withoutContextCopy(after)))) {
      const rule = findRule(row.path, notices);
      out.set(row.path, rule ? `rule ${rule}` : formatStepName(info.step));
    }
  }
  return out;
}

/** Finds the rule that wrote a path, if the step's notices name it. */
export function findRule(path: string, notices: Notice[]): string | undefined {
  const wrote = notices.findLast((it) => {
    if (it.kind !== 'audit') return false;
    if (it.stage === 'SET_STATE') return path === 'state';
    if (it.stage === 'SET_INTENT') return path === 'intent';
    if (it.stage === 'SET_DIALOGUE_ACT') return /dialogue_?act/i.test(path);
    const key = payloadMember(it, 'key');
    return (it.stage === 'SET_JSON' || it.stage.startsWith('GET_')) && typeof key === 'string' && path.split(/[.[\]]/).includes(key);
  });
  const id = wrote && payloadMember(wrote, 'ruleId');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : undefined;
}

function changedRows(all: DiffRow[]): DiffRow[] {
  return all.filter((it) => !it.opens && it.change !== 'same');
}

function payloadMember(notice: Notice, key: string): Json | undefined {
  const payload = notice.kind === 'audit' ? notice.payload : null;
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) ? payload[key] : undefined;
}

import type { AnsweredEffect, Origin } from '../session/turn-data';

/** A turn with its original, if it is a rerun. */
interface RerunTurn {
  exchanges: AnsweredEffect[];
  original?: RerunTurn | undefined;
}

/** Finds the origin of a reused answer by following the runs it was reused from. */
export function findFirstOrigin(turn: RerunTurn, answered: AnsweredEffect): Origin {
  let [at, found]: [RerunTurn, AnsweredEffect] = [turn, answered];
  while (found.origin === 'reused' && at.original) {
    const nth = sameRequests(at, found).indexOf(found);
    const earlier = sameRequests(at.original, found);
    const next = earlier[nth] ?? earlier[0];
    if (!next) break;
    [at, found] = [at.original, next];
  }
  return found.origin;
}

function sameRequests({ exchanges }: RerunTurn, like: AnsweredEffect): AnsweredEffect[] {
  return exchanges.filter((it) => requestText(it) === requestText(like));
}

function requestText({ raw, effect }: AnsweredEffect): string {
  return raw?.request ?? JSON.stringify(effect.request);
}

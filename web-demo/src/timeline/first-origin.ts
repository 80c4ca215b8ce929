import type { Answered, Origin } from '../session/saved';

/** A turn with the one that it runs again. */
interface Again {
  answered: Answered[];
  like?: Again | undefined;
}

/** Tells where an answer came from when it was given first: one that is used again points to the run before. */
export function firstOrigin(turn: Again, answered: Answered): Origin {
  let [at, found]: [Again, Answered] = [turn, answered];
  while (found.origin === 'reused' && at.like) {
    const nth = asking(at, found).indexOf(found);
    const earlier = asking(at.like, found);
    const next = earlier[nth] ?? earlier[0];
    if (!next) break;
    [at, found] = [at.like, next];
  }
  return found.origin;
}

function asking({ answered }: Again, like: Answered): Answered[] {
  return answered.filter((it) => requestOf(it) === requestOf(like));
}

function requestOf({ raw, effect }: Answered): string {
  return raw?.request ?? JSON.stringify(effect.request);
}

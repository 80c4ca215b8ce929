import { locateEffects, type TimelineTurn } from './items';

/** Formats the notices, effects and answers of a turn as JSON lines, in order. */
export function toJsonLines({ notices, exchanges, record }: TimelineTurn): string {
  const seqs = locateEffects(exchanges, notices);
  const lines = [
    ...notices.map((it) => ({ seq: it.seq, order: 2, line: JSON.stringify(it) })),
    ...exchanges.flatMap((it, place) => {
      const seq = seqs[place] ?? 0;
      const { effect, completion, origin, raw } = it;
      const { request: _, ...asked } = effect;
      // Raw texts preserve numbers such as `1.0`.
      const request = raw?.request ?? JSON.stringify(effect.request);
      const outcome = raw?.outcome ?? JSON.stringify(completion.outcome);
      return [
        { seq, order: 0, line: `{"kind":"effect",${objectMembers(JSON.stringify(asked))},"request":${request}}` },
        { seq, order: 1, line: `{"kind":"answer","id":${effect.id},"at":${completion.at},"origin":"${origin}","outcome":${outcome}}` },
      ];
    }),
  ].sort((a, b) => a.seq - b.seq || a.order - b.order);
  if (record) lines.push({ seq: Infinity, order: 0, line: JSON.stringify({ kind: 'end', ...record.outcome }) });
  return lines.map((it) => it.line).join('\n');
}

function objectMembers(object: string): string {
  return object.slice(1, -1);
}

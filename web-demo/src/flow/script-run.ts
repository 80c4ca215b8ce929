/** What scripts did in a turn, for display. */
import type { AnsweredEffect } from '../session/turn-data';
import type { Json, JsonObject, Notice } from '../types';

/** A run of a script. */
export interface ScriptRun {
  logs: string[];
  result: Json;
  branch: string | undefined;
  /** The changed variables with their values. */
  changed: JsonObject;
  removed: string[];
  failure: { code: string; message: string; line: number | undefined } | undefined;
  node: { graph: string; id: string } | undefined;
  /** Number of its notice. */
  seq: number;
}

/** Reads the runs of a turn from its notices, with the variables from their effects. Private variables are shown by name. */
export function turnScripts({ notices, exchanges }: { notices: Notice[]; exchanges: AnsweredEffect[] }, redacted: string[]): ScriptRun[] {
  const effects = exchanges.filter((it) => it.effect.request.kind === 'script');
  const records = notices.flatMap((it) => (it.kind === 'audit' && it.stage === 'script.run' ? [it] : []));
  const hidden = new Set(redacted.map((it) => it.split('.')[0]));
  return records.map(({ seq, payload }, index) => {
    const { logs, result, branch, failure, graph, node } = payload as JsonObject;
    const outcome = effects[index]?.completion.outcome;
    const { changed, removed } = outcome && 'ok' in outcome && !failure ? outcome.ok : ({} as JsonObject);
    return {
      logs: asTexts(logs),
      result: result ?? null,
      branch: typeof branch === 'string' ? branch : undefined,
      changed: Object.fromEntries(Object.entries(asObject(changed)).map(([name, it]) => [name, hidden.has(name.split('.')[0]) ? `[${name}]` : it])),
      removed: asTexts(removed),
      failure: failure ? readFailure(asObject(failure)) : undefined,
      node: typeof graph === 'string' && typeof node === 'string' ? { graph, id: node } : undefined,
      seq,
    };
  });
}

function readFailure({ code, message, line }: JsonObject): ScriptRun['failure'] {
  const text = typeof message === 'string' ? message : '';
  return { code: typeof code === 'string' ? code : '', message: text, line: typeof line === 'number' ? line : undefined };
}

function asTexts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((it) => typeof it === 'string') : [];
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

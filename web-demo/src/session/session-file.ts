import { elementTexts, JsonFault, memberText, spans } from '../json-text';

/** A turn in a file of journals. */
export interface FiledTurn {
  /** The journal as text; nothing when the turn left none. */
  journal: string | null;
  /** The hash by which its replay is judged; empty when it is not known. */
  stateHash: string;
  /** The configuration that it ran on, by its hash. */
  config: string;
  /** The turn before it, counted from 0; absent for the one above it in the file. */
  parent?: number | null;
  reason?: string;
}

/** A file of journals: what the server exports of a conversation, and what the page saves of a session. */
export interface Filed {
  conversationId: string;
  turns: FiledTurn[];
  /** The texts of packs by the hash of what they compile to. */
  configs: Map<string, string>;
  /** The turn that is shown, counted from 0. */
  head?: number;
}

/** Writes a file. Journals and packs stay as they are spelled. */
export function fileOf({ conversationId, turns, configs, head }: Filed): string {
  const text = (value: unknown) => JSON.stringify(value);
  const written = turns.map(({ journal, stateHash, config, parent, reason }, index) => {
    const more = [parent === undefined ? '' : `,"parent":${text(parent)}`, reason ? `,"reason":${text(reason)}` : ''].join('');
    return `{"number":${index + 1},"config":${text(config)},"stateHash":${text(stateHash)}${more},"journal":${journal ?? 'null'}}`;
  });
  const packs = [...configs].map(([hash, pack]) => `${text(hash)}:${pack}`);
  return (
    `{"conversationId":${text(conversationId)},\n"turns":[\n${written.join(',\n')}\n],\n` +
    `"configs":{${packs.join(',\n')}}${head === undefined ? '' : `,\n"head":${head}`}}\n`
  );
}

/** Reads a file of journals; nothing when the text is something else. */
export function filed(file: string): Filed | undefined {
  let root: ReturnType<typeof spans>;
  try {
    root = spans(file);
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
  const configs = root.members?.get('configs')?.members;
  if (!configs || !root.members?.get('turns')?.elements) return undefined;
  const turns = elementTexts(file, 'turns').map((it): FiledTurn => {
    const { stateHash, config, parent, reason } = JSON.parse(it) as Record<string, unknown>;
    const journal = memberText(it, 'journal');
    return {
      journal: journal === undefined || journal === 'null' ? null : journal,
      stateHash: typeof stateHash === 'string' ? stateHash : '',
      config: typeof config === 'string' ? config : '',
      ...(typeof parent === 'number' || parent === null ? { parent } : {}),
      ...(typeof reason === 'string' ? { reason } : {}),
    };
  });
  const { conversationId, head } = JSON.parse(file) as { conversationId?: unknown; head?: unknown };
  return {
    conversationId: typeof conversationId === 'string' ? conversationId : '',
    turns,
    configs: new Map([...configs].map(([hash, span]) => [hash, file.slice(span.start, span.end)])),
    ...(typeof head === 'number' ? { head } : {}),
  };
}

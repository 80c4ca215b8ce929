import { elementTexts, JsonSyntaxError, memberText, parseSpans } from '../json-text';

/** A turn in a file of journals. */
export interface SessionFileTurn {
  /** The journal as text; null if the turn has none. */
  journal: string | null;
  /** The state hash that its replay must reproduce; empty if unknown. */
  stateHash: string;
  /** Hash of the configuration that it ran on. */
  config: string;
  /** Index of the parent turn, from 0; absent if it is the preceding turn of the file. */
  parent?: number | null;
  reason?: string;
}

/** A file of journals, as the server exports a conversation and the page saves a session. */
export interface SessionFile {
  conversationId: string;
  turns: SessionFileTurn[];
  /** Pack texts by configuration hash. */
  configs: Map<string, string>;
  /** Index of the shown turn, from 0. */
  head?: number;
}

/** Serialises a session file. Journals and packs keep their spelling. */
export function writeSessionFile({ conversationId, turns, configs, head }: SessionFile): string {
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

/** Parses a file of journals; undefined if the text is something else. */
export function parseSessionFile(file: string): SessionFile | undefined {
  let root: ReturnType<typeof parseSpans>;
  try {
    root = parseSpans(file);
  } catch (fault) {
    if (fault instanceof JsonSyntaxError) return undefined;
    throw fault;
  }
  const configs = root.members?.get('configs')?.members;
  if (!configs || !root.members?.get('turns')?.elements) return undefined;
  const turns = elementTexts(file, 'turns').map((it): SessionFileTurn => {
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

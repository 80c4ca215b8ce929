/** The kinds of documents that a pack can play, and the words for them in talks. */
const TALK_WORDS: Record<string, string> = { conversation_flow: 'flow', workflow_graph: 'workflow', workflow_chain: 'chain', ai_agent: 'agent' };

const KINDS = Object.keys(TALK_WORDS);

type Members = Record<string, unknown>;

/** Whether a document can be played: a flow document, a workflow graph or a chain. */
export function isProgram(document: unknown): boolean {
  return KINDS.includes(String((document as { doc?: unknown } | null)?.doc));
}

/**
 * Whether a pack plays a document: it has one and no tables, as in the engine.
 *
 * Packs without a document are recognised without parsing them.
 */
export function isFlowPack(pack: string): boolean {
  return playedDocument(pack) !== undefined;
}

/** The kind of the document that a pack plays, such as `workflow_chain`; `undefined` for tables. */
export function playedKind(pack: string): string | undefined {
  const document = playedDocument(pack);
  return document && String(document['doc']);
}

/** The document that a pack plays, as a talk names it: `flow ID`, `workflow ID` or `chain SLUG`. */
export function talkProgram(pack: string): string {
  const document = playedDocument(pack);
  return `${TALK_WORDS[String(document?.['doc'])] ?? 'flow'} ${documentId(document)}`;
}

/** The id of the document whose knowledge base a pack has: of the one that it plays, or of the first assistant of a chain. */
export function assistantId(pack: string): string {
  const document = playedDocument(pack);
  if (document?.['doc'] !== 'workflow_chain') return documentId(document);
  return documentId(parseDocuments(pack).find((it) => it?.['doc'] === 'conversation_flow'));
}

/** The id of a document, or the slug of a chain. */
export function documentId(document: Members | undefined): string {
  return String(document?.['id'] ?? document?.['slug'] ?? 'assistant');
}

/** The first document that can be played, if the pack has no tables. */
export function playedDocument(pack: string): Members | undefined {
  if (!KINDS.some((it) => pack.includes(it))) return undefined;
  try {
    const { tables } = JSON.parse(pack) as { tables?: unknown };
    const none = typeof tables !== 'object' || tables === null || Object.keys(tables).length === 0;
    return none ? parseDocuments(pack).find(isProgram) : undefined;
  } catch {
    return undefined;
  }
}

function parseDocuments(pack: string): Members[] {
  const { documents } = JSON.parse(pack) as { documents?: unknown };
  return Array.isArray(documents) ? (documents as Members[]) : [];
}

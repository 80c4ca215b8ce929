/** The kinds of documents that run conversations. */
const KINDS = ['conversation_flow', 'workflow_graph'];

/** Whether a document runs conversations: a flow document or a workflow graph. */
export function isProgram(document: unknown): boolean {
  return KINDS.includes(String((document as { doc?: unknown } | null)?.doc));
}

/**
 * Whether a pack runs a document: it has one and no tables, as in the engine.
 *
 * Packs without a document are recognised without parsing them.
 */
export function isFlowPack(pack: string): boolean {
  if (!KINDS.some((it) => pack.includes(it))) return false;
  try {
    const { documents, tables } = JSON.parse(pack) as { documents?: unknown; tables?: unknown };
    const none = typeof tables !== 'object' || tables === null || Object.keys(tables).length === 0;
    return none && Array.isArray(documents) && documents.some(isProgram);
  } catch {
    return false;
  }
}

/** The document that a pack runs, as a talk names it: `flow ID` or `workflow ID`. */
export function talkProgram(pack: string): string {
  const { documents = [] } = JSON.parse(pack) as { documents?: { doc?: unknown; id?: unknown }[] };
  return `${documents.find(isProgram)?.doc === 'workflow_graph' ? 'workflow' : 'flow'} ${assistantId(pack)}`;
}

/** The id of the document that a pack runs. */
export function assistantId(pack: string): string {
  const { documents = [] } = JSON.parse(pack) as { documents?: { doc?: unknown; id?: unknown }[] };
  return String(documents.find(isProgram)?.id ?? 'assistant');
}

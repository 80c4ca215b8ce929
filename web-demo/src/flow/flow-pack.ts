/**
 * Whether a pack runs a flow document: it has one and no tables, as in the engine.
 *
 * Packs without a flow document are recognised without parsing them.
 */
export function isFlowPack(pack: string): boolean {
  if (!pack.includes('conversation_flow')) return false;
  try {
    const { documents, tables } = JSON.parse(pack) as { documents?: unknown; tables?: unknown };
    const none = typeof tables !== 'object' || tables === null || Object.keys(tables).length === 0;
    return none && Array.isArray(documents) && documents.some((it) => (it as { doc?: unknown } | null)?.doc === 'conversation_flow');
  } catch {
    return false;
  }
}

/** The assistant id of a pack's flow document. */
export function assistantId(pack: string): string {
  const { documents = [] } = JSON.parse(pack) as { documents?: { doc?: unknown; id?: unknown }[] };
  return String(documents.find((it) => it.doc === 'conversation_flow')?.id ?? 'assistant');
}

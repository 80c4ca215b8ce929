/**
 * Whether a pack plays a flow document, told as the engine tells it: it has one, and no tables.
 *
 * Most packs have none, which shows without reading them.
 */
export function playsFlow(pack: string): boolean {
  if (!pack.includes('conversation_flow')) return false;
  try {
    const { documents, tables } = JSON.parse(pack) as { documents?: unknown; tables?: unknown };
    const none = typeof tables !== 'object' || tables === null || Object.keys(tables).length === 0;
    return none && Array.isArray(documents) && documents.some((it) => (it as { doc?: unknown } | null)?.doc === 'conversation_flow');
  } catch {
    return false;
  }
}

/** The id of the assistant whose document a pack plays. */
export function assistantOf(pack: string): string {
  const { documents = [] } = JSON.parse(pack) as { documents?: { doc?: unknown; id?: unknown }[] };
  return String(documents.find((it) => it.doc === 'conversation_flow')?.id ?? 'assistant');
}

/** Names the conversations of a branch, and finds the turns at which another one begins or continues. */
import type { UserInput } from './session/turn-data';

/** Returns the headings of conversations by the turn that they precede; none if the branch has only one conversation. */
export function conversationHeadings<T extends { input: UserInput }>(path: T[]): Map<T, string> {
  const names = conversationNames(path);
  const headings = new Map<T, string>();
  const begun = new Set<string>();
  let current: string | undefined;
  if (names.size < 2) return headings;
  for (const turn of path) {
    const id = turn.input.conversationId;
    if (id !== current) headings.set(turn, `${names.get(id) ?? ''}${begun.has(id) ? ', continued' : ''}`);
    begun.add(id);
    current = id;
  }
  return headings;
}

/** Names conversations by their labels; equal labels are numbered. */
function conversationNames(path: { input: UserInput }[]): Map<string, string> {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const { input } of path) {
    if (names.has(input.conversationId)) continue;
    const label = input.conversation.trim() || 'unnamed';
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    names.set(input.conversationId, count === 1 ? label : `${label} ${count}`);
  }
  return names;
}

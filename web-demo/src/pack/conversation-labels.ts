/** Returns the label of the conversation of each turn of a pack; `undefined` where it has none. */
export function conversationLabels(pack: string): (string | undefined)[] {
  const { turns } = JSON.parse(pack) as { turns?: ({ conversation?: unknown } | null)[] | null };
  return (turns ?? []).map((it) => (typeof it?.conversation === 'string' && it.conversation !== '' ? it.conversation : undefined));
}

/** A text without its escapes, and where each of its characters comes from. */
export interface View {
  text: string;
  origins: number[];
}

export function viewOf(text: string): View {
  return { text, origins: Array.from({ length: text.length + 1 }, (_, at) => at) };
}

const PLAIN = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ...['"', '\\', '/', "'"].map((it): [string, string] => [it, it]),
]);

/** Takes the escapes of JSON off once; gives nothing when there are none. */
export function unescaped({ text, origins }: View): View | undefined {
  if (!text.includes('\\')) return undefined;
  const view: View = { text: '', origins: [] };
  const escapes = /\\(?:u([0-9a-fA-F]{4})|([nrt"\\/']))/g;
  let at = 0;
  const copy = (end: number) => {
    view.text += text.slice(at, end);
    for (; at < end; at++) view.origins.push(origins[at] ?? 0);
  };
  for (const it of text.matchAll(escapes)) {
    copy(it.index);
    view.text += it[1] ? String.fromCharCode(parseInt(it[1], 16)) : (PLAIN.get(it[2] ?? '') ?? '');
    view.origins.push(origins[at] ?? 0);
    at += it[0].length;
  }
  copy(text.length);
  view.origins.push(origins[text.length] ?? 0);
  return view;
}

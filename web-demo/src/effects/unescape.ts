/** A text with the original offset of each character. */
export interface MappedText {
  text: string;
  origins: number[];
}

export function mapText(text: string): MappedText {
  return { text, origins: Array.from({ length: text.length + 1 }, (_, at) => at) };
}

const ESCAPES = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ...['"', '\\', '/', "'"].map((it): [string, string] => [it, it]),
]);

/** Decodes one level of JSON escapes; undefined if there are none. */
export function unescapeJson({ text, origins }: MappedText): MappedText | undefined {
  if (!text.includes('\\')) return undefined;
  const view: MappedText = { text: '', origins: [] };
  const escapes = /\\(?:u([0-9a-fA-F]{4})|([nrt"\\/']))/g;
  let at = 0;
  const copy = (end: number) => {
    view.text += text.slice(at, end);
    for (; at < end; at++) view.origins.push(origins[at] ?? 0);
  };
  for (const it of text.matchAll(escapes)) {
    copy(it.index);
    view.text += it[1] ? String.fromCharCode(parseInt(it[1], 16)) : (ESCAPES.get(it[2] ?? '') ?? '');
    view.origins.push(origins[at] ?? 0);
    at += it[0].length;
  }
  copy(text.length);
  view.origins.push(origins[text.length] ?? 0);
  return view;
}

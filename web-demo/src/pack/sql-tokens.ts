/** SQL taken apart into words, as far as dumps of PostgreSQL, SQLite and Oracle differ. */

/** A word of a statement. */
export interface Word {
  kind: 'text' | 'name' | 'word' | 'number' | 'sign';
  /** The text without its quotes; a word in lower case; a number and a sign as they are written. */
  text: string;
  start: number;
}

/** What may stand there, in the order in which it is tried; commands of a shell begin with a backslash. What is not closed goes to the end: nothing after it can be trusted. */
const FORMS: [kind: Word['kind'] | 'blank' | 'escaped' | 'dollar', pattern: RegExp][] = [
  ['blank', /\s+|--[^\n]*|\\[^\n]*|\/\*(?:[^]*?\*\/|[^]*)/y],
  ['escaped', /[eE]'[^'\\]*(?:(?:\\[^]|'')[^'\\]*)*'/y],
  ['dollar', /[nN]?[qQ]'(?:\[[^]*?\]|\{[^]*?\}|\([^]*?\)|<[^]*?>)'|\$(\w*)\$(?:[^]*?\$\1\$|[^]*)/y],
  ['text', /[nN]?'[^']*(?:''[^']*)*'/y],
  ['name', /"[^"]*(?:""[^"]*)*"|`[^`]*`/y],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['word', /[\p{L}_][\p{L}\p{N}_$#]*/uy],
  ['sign', /::|\|\||[^]/uy],
];

/** Splits a text into statements. */
export function* statements(text: string): Generator<Word[]> {
  let words: Word[] = [];
  for (let at = 0; at < text.length; ) {
    const { word, end } = next(text, at);
    at = end;
    if (!word) continue;
    if (word.kind === 'sign' && word.text === ';') {
      yield words;
      // Rows follow, and none of them is SQL.
      if (isCopy(words)) at = after(text, '\n\\.', at);
      words = [];
    } else words.push(word);
  }
  yield words;
}

/** Tells whether rows follow that are no SQL. */
export function isCopy(words: Word[]): boolean {
  return words[0]?.text === 'copy' && words.some((it) => it.text === 'stdin');
}

function after(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
}

function next(text: string, start: number): { word?: Word; end: number } {
  for (const [kind, pattern] of FORMS) {
    pattern.lastIndex = start;
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) continue;
    const end = start + found.length;
    if (kind === 'blank') return { end };
    if (kind === 'escaped') return { word: { kind: 'text', text: unescaped(found.slice(2, -1)), start }, end };
    if (kind === 'dollar') return { word: { kind: 'text', text: bare(found), start }, end };
    return { word: { kind, text: plain(kind, found), start }, end };
  }
  return { end: start + 1 };
}

function plain(kind: Word['kind'], found: string): string {
  if (kind === 'text') return found.slice(found.indexOf("'") + 1, -1).replaceAll("''", "'");
  if (kind === 'name') return found.slice(1, -1).replaceAll('""', '"');
  return kind === 'word' ? found.toLowerCase() : found;
}

/** The text within dollars, or within the brackets that stand within the quotes. */
function bare(found: string): string {
  if (!found.startsWith('$')) return found.slice(found.indexOf("'") + 2, -2);
  const mark = found.indexOf('$', 1) + 1;
  return found.slice(mark, Math.max(mark, found.length - mark));
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function unescaped(text: string): string {
  return text.replace(/''|\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{1,2})|([0-7]{1,3})|([^]))/g, (whole, u?: string, long?: string, x?: string, octal?: string, one = '') => {
    if (whole === "''") return "'";
    const code = octal ? parseInt(octal, 8) : parseInt(u ?? long ?? x ?? '', 16);
    if (Number.isNaN(code)) return ESCAPES[one as string] ?? (one as string);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

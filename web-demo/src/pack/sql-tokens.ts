/** Tokenizes the SQL of PostgreSQL, SQLite and Oracle dumps. */

/** A token of a statement. */
export interface SqlToken {
  kind: 'text' | 'name' | 'word' | 'number' | 'sign';
  /** The text without quotes; words in lower case; numbers and signs as written. */
  text: string;
  start: number;
}

/** Token patterns, in matching order; psql commands begin with a backslash. Unterminated tokens extend to the end of the text. */
const TOKEN_PATTERNS: [kind: SqlToken['kind'] | 'blank' | 'escaped' | 'dollar', pattern: RegExp][] = [
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
export function* splitStatements(text: string): Generator<SqlToken[]> {
  let tokens: SqlToken[] = [];
  for (let at = 0; at < text.length; ) {
    const { word, end } = readToken(text, at);
    at = end;
    if (!word) continue;
    if (word.kind === 'sign' && word.text === ';') {
      yield tokens;
      // COPY data follows, which is not SQL.
      if (isCopy(tokens)) at = skipPast(text, '\n\\.', at);
      tokens = [];
    } else tokens.push(word);
  }
  yield tokens;
}

/** Whether the statement is a COPY that is followed by data. */
export function isCopy(tokens: SqlToken[]): boolean {
  return tokens[0]?.text === 'copy' && tokens.some((it) => it.text === 'stdin');
}

function skipPast(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at + mark.length;
}

function readToken(text: string, start: number): { word?: SqlToken; end: number } {
  for (const [kind, pattern] of TOKEN_PATTERNS) {
    pattern.lastIndex = start;
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) continue;
    const end = start + found.length;
    if (kind === 'blank') return { end };
    if (kind === 'escaped') return { word: { kind: 'text', text: unescapeText(found.slice(2, -1)), start }, end };
    if (kind === 'dollar') return { word: { kind: 'text', text: dollarText(found), start }, end };
    return { word: { kind, text: tokenText(kind, found), start }, end };
  }
  return { end: start + 1 };
}

function tokenText(kind: SqlToken['kind'], found: string): string {
  if (kind === 'text') return found.slice(found.indexOf("'") + 1, -1).replaceAll("''", "'");
  if (kind === 'name') return found.slice(1, -1).replaceAll('""', '"');
  return kind === 'word' ? found.toLowerCase() : found;
}

/** Returns the content of dollar quotes or of Oracle's `q'[…]'` quotes. */
function dollarText(found: string): string {
  if (!found.startsWith('$')) return found.slice(found.indexOf("'") + 2, -2);
  const mark = found.indexOf('$', 1) + 1;
  return found.slice(mark, Math.max(mark, found.length - mark));
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function unescapeText(text: string): string {
  return text.replace(/''|\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|x([\da-fA-F]{1,2})|([0-7]{1,3})|([^]))/g, (whole, u?: string, long?: string, x?: string, octal?: string, one = '') => {
    if (whole === "''") return "'";
    const code = octal ? parseInt(octal, 8) : parseInt(u ?? long ?? x ?? '', 16);
    if (Number.isNaN(code)) return ESCAPES[one as string] ?? (one as string);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}

/**
 * The positions of the parts of a JSON text.
 *
 * The page needs positions to pass on a part exactly as written, to locate the row of an issue, to change one part only, and to
 * report the position of a syntax error, which browsers report differently or not at all.
 */
export interface Span {
  start: number;
  end: number;
  /** The name, for a member. */
  key?: Span;
  members?: Map<string, Span>;
  elements?: Span[];
}

/** A JSON syntax error at an offset. */
export class JsonSyntaxError extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** Parses a JSON text into spans; throws a `JsonSyntaxError`. */
export function parseSpans(text: string): Span {
  const reader = new SpanReader(text);
  const root = reader.readValue(0);
  reader.expectEnd();
  return root;
}

/** Returns the text of one member of an object, unchanged. */
export function memberText(text: string, key: string): string | undefined {
  const span = parseSpans(text).members?.get(key);
  return span && text.slice(span.start, span.end);
}

/** Returns the texts of the elements of an object's list member, unchanged. */
export function elementTexts(text: string, key: string): string[] {
  const list = parseSpans(text).members?.get(key)?.elements ?? [];
  return list.map((it) => text.slice(it.start, it.end));
}

/** Returns the line and column of an offset, both from one. */
export function position(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const DEPTH_LIMIT = 120;
const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const WORD = /true|false|null/y;

class SpanReader {
  private at = 0;

  constructor(private readonly text: string) {}

  readValue(depth: number): Span {
    if (depth > DEPTH_LIMIT) throw this.syntaxError('nested too deeply');
    this.skipPattern(BLANK);
    switch (this.text[this.at]) {
      case '{':
        return this.readObject(depth);
      case '[':
        return this.readList(depth);
      case '"':
        return this.readString();
      default:
        return this.readScalar();
    }
  }

  expectEnd(): void {
    this.skipPattern(BLANK);
    if (this.at < this.text.length) throw this.syntaxError('unexpected text after the value');
  }

  private readObject(depth: number): Span {
    const start = this.at++;
    const members = new Map<string, Span>();
    this.skipPattern(BLANK);
    if (!this.takeCharacter('}')) {
      do {
        this.skipPattern(BLANK);
        if (this.text[this.at] !== '"') throw this.syntaxError('expected a name in double quotes');
        const key = this.readString();
        this.skipPattern(BLANK);
        if (!this.takeCharacter(':')) throw this.syntaxError('expected a colon');
        members.set(JSON.parse(this.text.slice(key.start, key.end)) as string, { ...this.readValue(depth + 1), key });
        this.skipPattern(BLANK);
      } while (this.takeCharacter(','));
      if (!this.takeCharacter('}')) throw this.syntaxError('expected a comma or a closing brace');
    }
    return { start, end: this.at, members };
  }

  private readList(depth: number): Span {
    const start = this.at++;
    const elements: Span[] = [];
    this.skipPattern(BLANK);
    if (!this.takeCharacter(']')) {
      do {
        elements.push(this.readValue(depth + 1));
        this.skipPattern(BLANK);
      } while (this.takeCharacter(','));
      if (!this.takeCharacter(']')) throw this.syntaxError('expected a comma or a closing bracket');
    }
    return { start, end: this.at, elements };
  }

  private readString(): Span {
    const start = this.at++;
    while (!this.takeCharacter('"')) {
      if (this.at >= this.text.length) throw this.syntaxError('expected a closing quote');
      if (this.text.charCodeAt(this.at) < 0x20) throw this.syntaxError('control character in a string: use \\n or \\t');
      if (this.text[this.at] !== '\\') this.at++;
      else if (!this.skipPattern(ESCAPE)) throw this.syntaxError('invalid escape: double the backslash or complete it');
    }
    return { start, end: this.at };
  }

  private readScalar(): Span {
    const start = this.at;
    if (!this.skipPattern(WORD) && !this.skipPattern(NUMBER)) throw this.syntaxError('expected a value');
    return { start, end: this.at };
  }

  private skipPattern(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text) || pattern.lastIndex === this.at) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private takeCharacter(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private syntaxError(message: string): JsonSyntaxError {
    return new JsonSyntaxError(this.at, this.at < this.text.length ? message : `${message} before the end of the text`);
  }
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

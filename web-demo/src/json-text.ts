/**
 * Where the parts of a JSON text stand.
 *
 * The page needs places, not values, four times: to pass on a part exactly as it was written, to point at the row that an
 * issue names, to change one part and nothing else, and to say where a text stops being JSON (browsers word that
 * differently, or not at all).
 */
export interface Span {
  start: number;
  end: number;
  /** The name, of a member. */
  key?: Span;
  members?: Map<string, Span>;
  elements?: Span[];
}

/** Tells where a text stops being JSON. */
export class JsonFault extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** Reads a whole JSON text into spans; throws a `JsonFault` where it is not JSON. */
export function spans(text: string): Span {
  const reader = new Reader(text);
  const root = reader.value(0);
  reader.finish();
  return root;
}

/** Gives the text of one member of an object, unchanged. */
export function memberText(text: string, key: string): string | undefined {
  const span = spans(text).members?.get(key);
  return span && text.slice(span.start, span.end);
}

/** Gives the texts of the elements of an object's list member, unchanged. */
export function elementTexts(text: string, key: string): string[] {
  const list = spans(text).members?.get(key)?.elements ?? [];
  return list.map((it) => text.slice(it.start, it.end));
}

/** Gives the line and column of an offset, both counted from one. */
export function position(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

const DEPTH_LIMIT = 120;
const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const WORD = /true|false|null/y;

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  value(depth: number): Span {
    if (depth > DEPTH_LIMIT) throw this.fault('the text is nested too deeply');
    this.skip(BLANK);
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth);
      case '[':
        return this.list(depth);
      case '"':
        return this.string();
      default:
        return this.scalar();
    }
  }

  finish(): void {
    this.skip(BLANK);
    if (this.at < this.text.length) throw this.fault('remove the text after the end of the value');
  }

  private object(depth: number): Span {
    const start = this.at++;
    const members = new Map<string, Span>();
    this.skip(BLANK);
    if (!this.take('}')) {
      do {
        this.skip(BLANK);
        if (this.text[this.at] !== '"') throw this.fault('write a name in double quotes here');
        const key = this.string();
        this.skip(BLANK);
        if (!this.take(':')) throw this.fault('write a colon after the name');
        members.set(JSON.parse(this.text.slice(key.start, key.end)) as string, { ...this.value(depth + 1), key });
        this.skip(BLANK);
      } while (this.take(','));
      if (!this.take('}')) throw this.fault('write a comma or a closing brace here');
    }
    return { start, end: this.at, members };
  }

  private list(depth: number): Span {
    const start = this.at++;
    const elements: Span[] = [];
    this.skip(BLANK);
    if (!this.take(']')) {
      do {
        elements.push(this.value(depth + 1));
        this.skip(BLANK);
      } while (this.take(','));
      if (!this.take(']')) throw this.fault('write a comma or a closing bracket here');
    }
    return { start, end: this.at, elements };
  }

  private string(): Span {
    const start = this.at++;
    while (!this.take('"')) {
      if (this.at >= this.text.length) throw this.fault('close the string with a double quote');
      if (this.text.charCodeAt(this.at) < 0x20) throw this.fault('write \\n or \\t: a string stays on one line');
      if (this.text[this.at] !== '\\') this.at++;
      else if (!this.skip(ESCAPE)) throw this.fault('double this backslash or complete the escape');
    }
    return { start, end: this.at };
  }

  private scalar(): Span {
    const start = this.at;
    if (!this.skip(WORD) && !this.skip(NUMBER)) throw this.fault('write a value here');
    return { start, end: this.at };
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text) || pattern.lastIndex === this.at) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private fault(message: string): JsonFault {
    return new JsonFault(this.at, this.at < this.text.length ? message : `${message}: the text ends too early`);
  }
}

/** Tells whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Lines of a talk with their numbers, for error messages. */

/** A part of a line, trimmed. */
export interface TalkLine {
  number: number;
  text: string;
}

/** Why a text is not a talk. */
export class TalkError extends Error {
  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`);
  }
}

/** Returns the rest after a mark; `undefined` if the line does not begin with it. */
export function afterMark({ number, text }: TalkLine, mark: string): TalkLine | undefined {
  return text.startsWith(mark) ? { number, text: text.slice(mark.length).trimStart() } : undefined;
}

/** Splits a line into its first word and the rest. */
export function splitWord({ number, text }: TalkLine): [word: string, rest: TalkLine] {
  const [word = ''] = /^\S*/.exec(text) ?? [];
  return [word, { number, text: text.slice(word.length).trimStart() }];
}

/** Splits a line at the first separator. */
export function splitAt({ number, text }: TalkLine, separator: string): [before: string, after: TalkLine] | undefined {
  const at = text.indexOf(separator);
  return at < 0 ? undefined : [text.slice(0, at).trimEnd(), { number, text: text.slice(at + separator.length).trimStart() }];
}

/** Returns the text; throws a `TalkError` if it is empty. */
export function requireText({ number, text }: TalkLine, what: string): string {
  if (text === '') throw new TalkError(number, `${what} is missing`);
  return text;
}

/** Parses JSON; throws a `TalkError` with a hint. */
export function parseLineJson({ number, text }: TalkLine, hint: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new TalkError(number, `invalid JSON; ${hint}`);
  }
}

import { JsonSyntaxError, position, parseSpans } from './json-text';

/** The position and reason of invalid JSON. */
export interface SyntaxIssue {
  line: number;
  column: number;
  offset: number;
  message: string;
}

/** Finds the first JSON syntax error of a text; undefined if there is none. */
export function findSyntaxIssue(text: string): SyntaxIssue | undefined {
  try {
    parseSpans(text);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof JsonSyntaxError)) throw fault;
    return { ...position(text, fault.offset), offset: fault.offset, message: fault.message };
  }
}

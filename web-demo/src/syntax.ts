import { JsonFault, position, spans } from './json-text';

/** Where the edited text stops being JSON. */
export interface SyntaxFault {
  line: number;
  column: number;
  offset: number;
  message: string;
}

/** Says where a text stops being JSON; nothing when it is JSON. */
export function syntaxOf(text: string): SyntaxFault | undefined {
  try {
    spans(text);
    return undefined;
  } catch (fault) {
    if (!(fault instanceof JsonFault)) throw fault;
    return { ...position(text, fault.offset), offset: fault.offset, message: fault.message };
  }
}

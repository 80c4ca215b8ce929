import type { JsonObject } from '../../types';
import type { Call } from './call';
import type { Said } from './said';

/** How a provider is spoken to. */
export interface Protocol {
  /** Where calls go, below the address. */
  path: string;
  /** How an answer in pieces comes. */
  pieces: 'events' | 'lines';
  /** Gives the headers of a call, which sign it when there is a key. */
  headers(key: string): Record<string, string>;
  /** Gives what is sent. */
  body(call: Call): JsonObject;
  /** Reads a whole answer, whose text is there for what must stay as it was written. */
  whole(call: Call, said: Said, body: unknown, text: string): void;
  /** Takes up the data of an event, or a line. */
  part(call: Call, said: Said, data: string): void;
}

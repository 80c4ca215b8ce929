import { createParser } from 'eventsource-parser';
import { isJson } from '../../json-text';
import { NotText, pieces, TooLong, whole } from '../bytes';
import { Failed } from './failed';

/** The time that one model has for an answer. */
export interface Time {
  milliseconds: number;
  /** When it ends, by `performance.now()`. */
  ends: number;
  /** Is aborted then. */
  signal: AbortSignal;
}

/** The longest answer in bytes. */
export const LONGEST = 8 << 20;
const LONGEST_ERROR = 64 << 10;

/** Sends a call and gives its answer, which has a status of success. */
export async function send(url: string, headers: Record<string, string>, body: string, time: Time): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: time.signal,
    credentials: 'omit',
    // A key is carried to nobody else.
    redirect: 'manual',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
  }).catch((error: Error) => {
    throw time.signal.aborted ? Failed.late(time.milliseconds) : Failed.unreachable(error.message);
  });
  if (response.ok) return response;
  if (response.type === 'opaqueredirect') throw new Failed('refused', 'next', 'it redirects: write the address to which it does');
  // The status stands also without the rest of the body.
  const text = await whole(response.body, LONGEST_ERROR).catch(() => '');
  throw Failed.ofStatus(response.status, response.headers, text);
}

/** Gives a body of JSON as text. */
export async function document(response: Response, time: Time): Promise<string> {
  let text = '';
  for await (const piece of texts(response, time)) text += piece;
  // An answer is an object, so one that cannot be read was not sent to its end.
  if (/^[ \t\r\n]*(\{|$)/.test(text) && !isJson(text)) throw Failed.truncated();
  return text;
}

/** Gives the data of the events of a body; one that the body breaks off in does not come. */
export async function* events(response: Response, time: Time): AsyncGenerator<string> {
  let ready: string[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event.data) });
  for await (const piece of texts(response, time)) {
    parser.feed(piece);
    yield* ready;
    ready = [];
  }
}

/** Gives the lines of a body; one that the body breaks off in does not come. */
export async function* lines(response: Response, time: Time): AsyncGenerator<string> {
  let held = '';
  for await (const piece of texts(response, time)) {
    const [first = '', ...more] = piece.split('\n');
    held += first;
    for (const next of more) {
      yield held;
      held = next;
    }
  }
}

/** Reads JSON of a provider. */
export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The words of a browser would quote it, and part of a key that is quoted is not found any more.
    throw Failed.unreadable('it is no JSON');
  }
}

async function* texts(response: Response, time: Time): AsyncGenerator<string> {
  try {
    yield* pieces(response.body, LONGEST, true);
  } catch (error) {
    if (error instanceof TooLong) throw Failed.unreadable(`it is longer than ${LONGEST} bytes`);
    if (error instanceof NotText) throw Failed.unreadable('it is no UTF-8');
    throw time.signal.aborted ? Failed.late(time.milliseconds) : Failed.truncated();
  }
}

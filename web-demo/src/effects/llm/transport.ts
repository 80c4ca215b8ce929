import { createParser } from 'eventsource-parser';
import { isJson } from '../../json-text';
import { InvalidUtf8Error, readChunks, BodyTooLargeError, readText } from '../body';
import { ModelError } from './model-error';

/** The deadline of one model. */
export interface Deadline {
  limitMs: number;
  /** Its end on the clock of `performance.now()`. */
  endsAt: number;
  /** Aborted at that time. */
  signal: AbortSignal;
}

/** Maximum size of a response, in bytes. */
export const MAX_RESPONSE_BYTES = 8 << 20;
const MAX_ERROR_BYTES = 64 << 10;

/** Sends a request; returns a response with a success status. */
export async function send(url: string, headers: Record<string, string>, body: string, deadline: Deadline): Promise<Response> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: deadline.signal,
    credentials: 'omit',
    // The key must not be forwarded to another server.
    redirect: 'manual',
    referrerPolicy: 'no-referrer',
    cache: 'no-store',
  }).catch((error: Error) => {
    throw deadline.signal.aborted ? ModelError.timeout(deadline.limitMs) : ModelError.unreachable(error.message);
  });
  if (response.ok) return response;
  if (response.type === 'opaqueredirect') throw new ModelError('refused', 'next', 'the server redirects: use the URL that it redirects to');
  // The status is useful even without the body.
  const text = await readText(response.body, MAX_ERROR_BYTES).catch(() => '');
  throw ModelError.fromStatus(response.status, response.headers, text);
}

/** Reads a JSON body as text. */
export async function readDocument(response: Response, deadline: Deadline): Promise<string> {
  let text = '';
  for await (const piece of readTexts(response, deadline)) text += piece;
  // Responses are objects, so an unparsable one is incomplete.
  if (/^[ \t\r\n]*(\{|$)/.test(text) && !isJson(text)) throw ModelError.truncated();
  return text;
}

/** Yields the data of server-sent events; an incomplete last event is dropped. */
export async function* readEvents(response: Response, deadline: Deadline): AsyncGenerator<string> {
  let ready: string[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event.data) });
  for await (const piece of readTexts(response, deadline)) {
    parser.feed(piece);
    yield* ready;
    ready = [];
  }
}

/** Yields the lines of a body; an incomplete last line is dropped. */
export async function* readLines(response: Response, deadline: Deadline): AsyncGenerator<string> {
  let pending = '';
  for await (const piece of readTexts(response, deadline)) {
    const [first = '', ...more] = piece.split('\n');
    pending += first;
    for (const next of more) {
      yield pending;
      pending = next;
    }
  }
}

/** Parses JSON of a provider. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Browser messages quote the input, and a partly quoted key could not be redacted.
    throw ModelError.unusable('it is not JSON');
  }
}

async function* readTexts(response: Response, deadline: Deadline): AsyncGenerator<string> {
  try {
    yield* readChunks(response.body, MAX_RESPONSE_BYTES, true);
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw ModelError.unusable(`it exceeds ${MAX_RESPONSE_BYTES} bytes`);
    if (error instanceof InvalidUtf8Error) throw ModelError.unusable('it is not UTF-8');
    throw deadline.signal.aborted ? ModelError.timeout(deadline.limitMs) : ModelError.truncated();
  }
}

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

/** A part of an answer: the text of the whole, the data of an event or a line, the last of which may be cut off, or an event of an error. */
export type BodyPart = { document: string } | { part: string; isLast?: boolean } | { error: unknown };

/** What a line of server-sent events begins with. */
const EVENT_FIELD = /^(data|event|id|retry)?:/;

/** Yields the parts of a body in the form that it has, which may be another one than was asked for. */
export async function* readBody(response: Response, deadline: Deadline, format: 'events' | 'lines', isStream: boolean): AsyncGenerator<BodyPart> {
  let parser: ReturnType<typeof partParser> | undefined;
  let start = '';
  for await (const piece of readTexts(response, deadline)) {
    start += parser ? '' : piece;
    // A document is read as a whole, and a body that was no stream is taken for one.
    parser ??= isStream && isStreamStart(start, format) ? partParser(format) : undefined;
    if (parser) yield* parser.push(start || piece);
    if (parser) start = '';
  }
  if (parser) return yield* parser.finish();
  const text = start.trimStart();
  if (isJson(text)) return yield { document: text };
  // Responses are objects, so an unparsable one is incomplete, unless it is one line of many.
  const isMany = format === 'events' ? EVENT_FIELD.test(text) : text.startsWith('{') && isJson(text.split('\n', 1)[0] ?? '');
  if (!isMany && /^(\{|$)/.test(text)) throw ModelError.truncated();
  if (!isMany) throw ModelError.unusable('it is not JSON');
  const parts = partParser(format);
  yield* parts.push(text);
  yield* parts.finish();
}

/** Whether a body that begins like this is a stream. A document begins with a brace; that of a stream of lines goes on after its first line. */
function isStreamStart(start: string, format: 'events' | 'lines'): boolean {
  if (format === 'events') return /^\s*[^\s{[]/.test(start);
  const end = start.indexOf('\n');
  return end >= 0 && isJson(start.slice(0, end));
}

/** A parser of the parts of a stream. */
function partParser(format: 'events' | 'lines') {
  let ready: BodyPart[] = [];
  const take = () => ready.splice(0);
  const takeLast = () => take().map((it) => ('part' in it ? { ...it, isLast: true } : it));
  if (format === 'lines') {
    let pending = '';
    const add = (line: string) => line.trim() && ready.push({ part: line });
    return {
      push(piece: string): BodyPart[] {
        const lines = (pending + piece).split('\n');
        pending = lines.pop() ?? '';
        lines.forEach(add);
        return take();
      },
      finish(): BodyPart[] {
        add(pending);
        return takeLast();
      },
    };
  }
  const parser = createParser({
    onEvent: ({ event, data }) => {
      // One without data is a sign of life.
      if (data.trim()) ready.push(event === 'error' ? { error: isJson(data) ? JSON.parse(data) : data } : { part: data });
    },
  });
  return {
    push(piece: string): BodyPart[] {
      parser.feed(piece);
      return take();
    },
    finish(): BodyPart[] {
      // The last line and the last event may not have been ended.
      parser.feed('\n\n');
      return takeLast();
    },
  };
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
  let isFirst = true;
  try {
    for await (const piece of readChunks(response.body, MAX_RESPONSE_BYTES, true)) {
      // A byte order mark is no part of the text.
      yield isFirst ? piece.replace(/^\ufeff/, '') : piece;
      if (piece) isFirst = false;
    }
  } catch (error) {
    if (error instanceof BodyTooLargeError) throw ModelError.unusable(`it exceeds ${MAX_RESPONSE_BYTES} bytes`);
    if (error instanceof InvalidUtf8Error) throw ModelError.unusable('it is not UTF-8');
    throw deadline.signal.aborted ? ModelError.timeout(deadline.limitMs) : ModelError.truncated();
  }
}

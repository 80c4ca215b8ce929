/** The body exceeds its size limit. */
export class BodyTooLargeError extends Error {}

/** The body is not valid UTF-8. */
export class InvalidUtf8Error extends Error {}

/**
 * Reads a body as text, chunk by chunk, up to `maxBytes`.
 *
 * @param strict rejects invalid UTF-8; otherwise it becomes `U+FFFD`
 */
export async function* readChunks(body: ReadableStream<Uint8Array> | null, maxBytes: number, strict: boolean): AsyncGenerator<string> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: strict, ignoreBOM: true });
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > maxBytes) throw new BodyTooLargeError();
      yield decodeChunk(decoder, value);
    }
    // Flushes a character that the end of the body cut off.
    if (!strict) yield decoder.decode();
  } finally {
    // The rest is not needed; a broken connection is closed already.
    reader.cancel().catch(() => {});
  }
}

/** Reads a whole body as text; invalid UTF-8 becomes `U+FFFD`. */
export async function readText(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  let text = '';
  for await (const piece of readChunks(body, maxBytes, false)) text += piece;
  return text;
}

function decodeChunk(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw new InvalidUtf8Error();
  }
}

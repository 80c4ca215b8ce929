/** A body that is longer than what was agreed. */
export class TooLong extends Error {}

/** A body that is no UTF-8. */
export class NotText extends Error {}

/**
 * Gives a body as text, piece by piece, up to so many bytes.
 *
 * @param strict refuses what is no UTF-8; else it becomes `U+FFFD`
 */
export async function* pieces(body: ReadableStream<Uint8Array> | null, most: number, strict: boolean): AsyncGenerator<string> {
  if (!body) return;
  const reader = body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: strict, ignoreBOM: true });
  let taken = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      taken += value.length;
      if (taken > most) throw new TooLong();
      yield decoded(decoder, value);
    }
    // A character that the body breaks off in is none.
    if (!strict) yield decoder.decode();
  } finally {
    // Who has read enough wants no more of it; a connection that broke is closed already.
    reader.cancel().catch(() => {});
  }
}

/** Gives a whole body as text, what is no UTF-8 in it as `U+FFFD`. */
export async function whole(body: ReadableStream<Uint8Array> | null, most: number): Promise<string> {
  let text = '';
  for await (const piece of pieces(body, most, false)) text += piece;
  return text;
}

function decoded(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw new NotText();
  }
}

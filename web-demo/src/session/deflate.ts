/** Bytes that a text may have when it is unpacked. */
const MOST = 4 << 20;
/** So many bytes are unpacked at once: a small piece cannot become much more than a megabyte. */
const PIECE = 1 << 10;

/** Makes bytes fewer. */
export function squeezed(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return through(bytes, new CompressionStream('deflate-raw'), Infinity);
}

/** Makes them what they were; throws a `RangeError` as soon as they are too many. */
export function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return through(bytes, new DecompressionStream('deflate-raw'), MOST);
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream, most: number): Promise<Uint8Array> {
  let sent = 0;
  const pieces = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(to) {
      if (sent >= bytes.length) to.close();
      else to.enqueue(bytes.slice(sent, (sent += PIECE)));
    },
  });
  const reader = pieces.pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      // Whether the rest goes away quietly changes nothing.
      reader.cancel().catch(() => {});
      throw new RangeError(`more than ${most >> 20} MB`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

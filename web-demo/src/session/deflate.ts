/** Maximum size of inflated data, in bytes. */
const MAX_INFLATED_BYTES = 4 << 20;
/** Bytes fed to the stream at once, which bounds the output of one read to about a megabyte. */
const CHUNK_BYTES = 1 << 10;

/** Compresses bytes (raw deflate). */
export function deflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return pipeThrough(bytes, new CompressionStream('deflate-raw'), Infinity);
}

/** Decompresses bytes; throws a `RangeError` as soon as the output is too large. */
export function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return pipeThrough(bytes, new DecompressionStream('deflate-raw'), MAX_INFLATED_BYTES);
}

async function pipeThrough(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream, maxBytes: number): Promise<Uint8Array> {
  let sent = 0;
  const pieces = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(to) {
      if (sent >= bytes.length) to.close();
      else to.enqueue(bytes.slice(sent, (sent += CHUNK_BYTES)));
    },
  });
  const reader = pieces.pipeThrough(stream).getReader();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > maxBytes) {
      // A failed cancellation changes nothing.
      reader.cancel().catch(() => {});
      throw new RangeError(`more than ${maxBytes >> 20} MiB`);
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

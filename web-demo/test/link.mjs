/** A link as slow as one wants: what goes over it at the same time shares its bits, and every answer is late by a round trip. */
const PIECE = 4096;

export class Link {
  bits = Infinity;
  late = 0;
  /** When what was sent so far has gone over. */
  sent = 0;
  known = new WeakSet();

  /** Lets so many bits a second over, after so many milliseconds. */
  limit(bits, milliseconds) {
    [this.bits, this.late] = [bits, milliseconds];
  }

  /** Lets everything over at once. */
  free() {
    this.limit(Infinity, 0);
  }

  /** Sends an answer; a connection that is new costs a round trip more. */
  async carry(bytes, response) {
    const trips = this.known.has(response.socket) ? 1 : 2;
    this.known.add(response.socket);
    await until(performance.now() + trips * this.late);
    for (let at = 0; at < bytes.length; at += PIECE) {
      const piece = bytes.subarray(at, at + PIECE);
      this.sent = Math.max(this.sent, performance.now()) + (piece.length * 8000) / this.bits;
      await until(this.sent);
      response.write(piece);
    }
    response.end();
  }
}

/** Timers are too coarse for one piece, but time that was waited too long is not waited again. */
function until(time) {
  const left = time - performance.now();
  return left > 0.5 ? new Promise((resolve) => setTimeout(resolve, left)) : undefined;
}

/** A simulated slow link: concurrent responses share its bandwidth, and each is delayed by a round trip. */
const PIECE = 4096;

export class Link {
  bits = Infinity;
  late = 0;
  /** When everything sent so far has arrived. */
  sent = 0;
  known = new WeakSet();

  /** Sets bandwidth in bits per second and latency in milliseconds. */
  limit(bits, milliseconds) {
    [this.bits, this.late] = [bits, milliseconds];
  }

  /** Removes all limits. */
  free() {
    this.limit(Infinity, 0);
  }

  /** Sends a response; a new connection costs one more round trip. */
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

/** Waits; timers are too coarse for one chunk, so excess waiting time is credited to the next ones. */
function until(time) {
  const left = time - performance.now();
  return left > 0.5 ? new Promise((resolve) => setTimeout(resolve, left)) : undefined;
}

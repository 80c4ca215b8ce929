/** The events of a turn. They can be iterated over once. */
export class EventStream {
  #controller = new AbortController();
  #events;
  #isCancelled = false;

  /** `open` returns the events, and ends them with an error when its signal is aborted. */
  constructor(open, caller) {
    this.#events = this.#run(open, caller);
  }

  [Symbol.asyncIterator]() {
    return this.#events;
  }

  cancel() {
    this.#isCancelled = true;
    this.#controller.abort();
  }

  async *#run(open, caller) {
    if (this.#isCancelled) return;
    const follow = () => this.#controller.abort(caller.reason);
    if (caller?.aborted) follow();
    caller?.addEventListener('abort', follow, { once: true });
    try {
      for await (const event of open(this.#controller.signal)) {
        yield event;
        // Events that have arrived before are not shown either.
        this.#controller.signal.throwIfAborted();
      }
    } catch (error) {
      if (!this.#isCancelled) throw error;
    } finally {
      caller?.removeEventListener('abort', follow);
      // Ends requests that are still open, also when the loop over the events has been left.
      this.#controller.abort();
    }
  }
}

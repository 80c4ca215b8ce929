import { ConvEngineError } from './error.js';
import { readEvents } from './server-sent-events.js';

const DEFAULT_TIMEOUT_MS = 150_000;
const DEFAULT_RETRIES = 2;
/** A server that asks for a longer pause gets no further attempt. */
const LONGEST_PAUSE_MS = 30_000;
const FIRST_PAUSE_MS = 250;

/** Sends requests, and repeats those that are safe to repeat. */
export class Transport {
  #url;
  #headers;
  #timeoutMs;
  #fetch;

  constructor({ url, apiKey, tenant, timeoutMs = DEFAULT_TIMEOUT_MS, retries = DEFAULT_RETRIES, fetch = globalThis.fetch }) {
    this.#url = url.replace(/\/+$/, '');
    this.#headers = { ...(apiKey && { Authorization: `Bearer ${apiKey}` }), ...(tenant && { 'X-Tenant': tenant }) };
    this.#timeoutMs = timeoutMs;
    /** The number of further attempts after the first. */
    this.retries = retries;
    // Browsers refuse to call their `fetch` as a method of another object.
    this.#fetch = (...parameters) => fetch(...parameters);
  }

  /** Returns the body of the response. A POST without `repeatable` is sent once, whatever happens. */
  call(method, path, options = {}) {
    return this.#repeat(method, options, async () => {
      const watch = new Watch(options.signal, options.timeoutMs ?? this.#timeoutMs);
      try {
        const response = await this.#request(method, path, options, watch);
        return await response.json();
      } catch (error) {
        throw watch.explain(error);
      } finally {
        watch.stop();
      }
    });
  }

  /** Opens a stream of events; resolves with an iterator over `{name, id, data}` as soon as the server has accepted the request. */
  open(method, path, options = {}) {
    return this.#repeat(method, options, async () => {
      const watch = new Watch(options.signal, options.timeoutMs ?? this.#timeoutMs);
      try {
        const response = await this.#request(method, path, options, watch);
        return watched(readEvents(response.body, () => watch.restart()), watch);
      } catch (error) {
        watch.stop();
        throw watch.explain(error);
      }
    });
  }

  async #request(method, path, { body, headers }, watch) {
    const response = await this.#fetch(this.#url + path, {
      method,
      headers: { ...this.#headers, ...(body && { 'Content-Type': 'application/json' }), ...headers },
      body: body && JSON.stringify(body),
      signal: watch.signal,
    });
    if (!response.ok) throw await ConvEngineError.fromResponse(response);
    return response;
  }

  async #repeat(method, { repeatable = method === 'GET', retries = this.retries, signal }, attempt) {
    for (let failures = 0; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        const pause = pauseBeforeRetry(error, failures);
        if (!repeatable || failures >= retries || pause === undefined) throw error;
        await sleep(pause, signal);
      }
    }
  }
}

/** Passes on what an iterator yields, and ends the watch with it. */
async function* watched(events, watch) {
  try {
    yield* events;
  } catch (error) {
    throw watch.explain(error);
  } finally {
    watch.stop();
  }
}

/** Returns the milliseconds to wait before another attempt, or nothing if it would not help. */
export function pauseBeforeRetry(error, failures) {
  if (!(error instanceof ConvEngineError)) return undefined;
  const isBusy = error.status === 429 || error.status === 503;
  if (!isBusy && error.code !== 'connection_failed') return undefined;
  const pause = error.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** failures * (1 + Math.random());
  return pause <= LONGEST_PAUSE_MS ? pause : undefined;
}

/** Resolves after a time; rejects as soon as the signal is aborted. */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Aborts a request when its caller does, or when nothing has arrived for a time. */
class Watch {
  #controller = new AbortController();
  #caller;
  #timeoutMs;
  #timer;
  #timedOut = false;
  #follow = () => {
    // A timer would keep the process alive, also where nobody reads the rest of a stream.
    this.stop();
    this.#controller.abort(this.#caller.reason);
  };

  constructor(caller, timeoutMs) {
    this.#caller = caller;
    this.#timeoutMs = timeoutMs;
    this.restart();
    caller?.addEventListener('abort', this.#follow, { once: true });
    if (caller?.aborted) this.#follow();
  }

  get signal() {
    return this.#controller.signal;
  }

  /** Something has arrived. */
  restart() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timedOut = true;
      this.#controller.abort();
    }, this.#timeoutMs);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#follow);
  }

  /** Returns the error for the caller: what it aborted with, or an error of this package. */
  explain(error) {
    if (this.#caller?.aborted) return this.#caller.reason;
    if (this.#timedOut) return new ConvEngineError(`no response within ${this.#timeoutMs} ms`, { code: 'timeout', cause: error });
    if (error instanceof ConvEngineError) return error;
    if (error instanceof SyntaxError) return new ConvEngineError('the response is not JSON', { code: 'invalid_response', cause: error });
    const reason = error.cause?.message || error.message;
    return new ConvEngineError(`connection failed: ${reason}`, { code: 'connection_failed', cause: error });
  }
}

import { Assistant, Deployment } from './assistant.js';
import { Tables } from './tables.js';
import { Transport } from './transport.js';

export { ConvEngineError } from './error.js';

/** A client of a running server. */
export class Client {
  #transport;

  constructor(options) {
    this.#transport = new Transport(options);
    this.tables = new Tables(this.#transport);
  }

  assistant(id) {
    return new Assistant(this.#transport, id);
  }

  deployment() {
    return new Deployment(this.#transport);
  }

  health(options) {
    return this.#transport.call('GET', '/healthz', { ...options, retries: 0 });
  }

  ready(options) {
    return this.#transport.call('GET', '/readyz', { ...options, retries: 0 });
  }
}

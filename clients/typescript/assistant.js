import { ConvEngineError } from './error.js';
import { EventStream } from './event-stream.js';
import { pauseBeforeRetry, sleep } from './transport.js';
import { uuid } from './uuid.js';

/** An assistant, whose sessions run on its draft or on a version. */
export class Assistant {
  #transport;
  #path;

  constructor(transport, id) {
    this.#transport = transport;
    this.#path = `/v1/runtime/assistants/${encodeURIComponent(id)}/sessions`;
  }

  async start(start = {}, options = {}) {
    // The server recognizes a repeated start by both.
    const body = { ...start, session_id: start.session_id ?? uuid(), event_id: start.event_id ?? uuid() };
    const response = await this.#transport.call('POST', this.#path, { ...options, body, repeatable: true });
    return new Session(this.#transport, this.#path, response.session_id, response);
  }

  session(id) {
    return new Session(this.#transport, this.#path, id, undefined);
  }
}

const DEPLOYED_SESSIONS = '/v1/public/runtime/sessions';

/** A deployed assistant, which the token of the client names. */
export class Deployment {
  #transport;

  constructor(transport) {
    this.#transport = transport;
  }

  async start(start = {}, options = {}) {
    // The server chooses the id of the session, so it would take a repeated start for another one.
    const response = await this.#transport.call('POST', DEPLOYED_SESSIONS, { ...options, body: start });
    return new Session(this.#transport, DEPLOYED_SESSIONS, response.session_id, response);
  }

  session(id) {
    return new Session(this.#transport, DEPLOYED_SESSIONS, id, undefined);
  }
}

/** A session of an assistant. */
export class Session {
  #transport;
  #path;

  constructor(transport, sessions, id, started) {
    this.#transport = transport;
    this.#path = `${sessions}/${encodeURIComponent(id)}`;
    this.id = id;
    this.started = started;
  }

  send(event, options = {}) {
    return this.#transport.call('POST', `${this.#path}/turns`, { ...options, body: toBody(event), repeatable: true });
  }

  stream(event, options = {}) {
    return new EventStream((signal) => this.#turn(toBody(event), { ...options, signal }), options.signal);
  }

  state(options = {}) {
    return this.#transport.call('GET', this.#path, options);
  }

  /**
   * Yields the events of a turn. Where its stream breaks, the event is sent again: the server then answers with the messages and the end
   * of the same turn, of which those are passed on that are new.
   */
  async *#turn(body, { retries = this.#transport.retries, ...options }) {
    const path = `${this.#path}/turns?stream=true`;
    const shown = new Set();
    for (let failures = 0; ; failures++) {
      try {
        // Attempts are counted here, so that those of the request and of the stream do not multiply.
        for await (const { name, data } of await this.#transport.open('POST', path, { ...options, body, retries: 0 })) {
          if (name === 'error') throw new ConvEngineError(data.error.message, { status: 200, code: data.error.code, body: data });
          if (name === 'message' && shown.has(data.id)) continue;
          if (name === 'message') shown.add(data.id);
          yield { type: name, data };
          if (name === 'done') return;
        }
        throw new ConvEngineError('connection failed: the stream has ended before its turn', { code: 'connection_failed' });
      } catch (error) {
        const pause = pauseBeforeRetry(error, failures);
        if (failures >= retries || pause === undefined) throw error;
        await sleep(pause, options.signal);
      }
    }
  }
}

/** Every event has an id, so that the server recognizes a repeated one. */
function toBody(event) {
  return { event_id: uuid(), ...(typeof event === 'string' ? { type: 'user.message', text: event } : event) };
}

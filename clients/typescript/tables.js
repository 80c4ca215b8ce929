import { EventStream } from './event-stream.js';
import { sleep } from './transport.js';
import { uuid } from './uuid.js';

const CONVERSATION = '/api/v1/conversation';
/** The event after which a turn publishes nothing that people read. */
const LAST_STAGE = 'ENGINE_RETURN';
/** How long events may come after their answer, which arrives on another connection. */
const EVENTS_AFTER_ANSWER_MS = 1000;

/** Conversations of tables. */
export class Tables {
  #transport;

  constructor(transport) {
    this.#transport = transport;
  }

  send(message, { idempotencyKey = uuid(), ...options } = {}) {
    const headers = { 'Idempotency-Key': idempotencyKey };
    return this.#transport.call('POST', `${CONVERSATION}/message`, { ...options, headers, body: toBody(message), repeatable: true });
  }

  stream(message, options = {}) {
    return new EventStream((signal) => this.#turn(toBody(message), { ...options, signal }), options.signal);
  }

  events(conversationId, { lastEventId, ...options } = {}) {
    return new EventStream((signal) => this.#events(conversationId, lastEventId, { ...options, signal }), options.signal);
  }

  async *#events(conversationId, lastEventId, options) {
    const headers = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
    const path = `${CONVERSATION}/stream/${encodeURIComponent(conversationId)}`;
    for await (const { name, id, data } of await this.#transport.open('GET', path, { ...options, headers })) {
      // The name of an audit event is its stage, of which there are many.
      yield { type: data.eventType ?? name, id, data };
    }
  }

  /** Yields the events of the conversation until the turn has answered, and then its answer. A failure of the events fails no turn. */
  async *#turn(message, options) {
    const body = { ...message, conversationId: message.conversationId ?? uuid() };
    const events = this.#events(body.conversationId, undefined, options);
    // The server confirms the subscription before the message is sent, so no event of the turn is missed.
    const { value: connected } = await events.next();
    if (connected) yield connected;
    const answer = this.send(body, options);
    const answered = answer.then(nothing, nothing);
    const late = answer.then(() => sleep(EVENTS_AFTER_ANSWER_MS, options.signal)).catch(nothing);
    for (let isLast = false; ; ) {
      const event = await Promise.race([events.next().then(({ value }) => value, nothing), isLast ? answered : late]);
      if (event === undefined) break;
      yield event;
      isLast ||= event.data.stage === LAST_STAGE;
    }
    yield { type: 'ANSWER', data: await answer };
  }
}

function toBody(message) {
  return typeof message === 'string' ? { message } : message;
}

function nothing() {}

import { runTurn } from './turn-runner.js';

/** A conversation with an engine of its own; `engine` is a promise of it. */
export class Conversation {
  #engine;
  #effects;
  #observer;
  #id;
  #isRunning = false;

  constructor(engine, { effects = {}, observer, id } = {}) {
    this.#engine = engine;
    // A pack that cannot be used is reported by the first call.
    engine.catch(() => {});
    this.#effects = effects;
    this.#observer = observer;
    this.#id = id;
  }

  get id() {
    return this.#id;
  }

  get engine() {
    return this.#engine;
  }

  start(start = {}) {
    return this.send({ flow: { ...start, type: 'session.start' } });
  }

  async send(message) {
    if (this.#isRunning) throw turnRunningError();
    this.#isRunning = true;
    try {
      const engine = await this.#engine;
      const input = { conversation_id: this.#id, ...(typeof message === 'string' ? { message } : message) };
      const result = await runTurn(engine, input, (effect, text) => this.#answer(engine, effect, text), this.#observer);
      this.#id = result.outcome.conversation_id;
      return toAnswer(result);
    } finally {
      this.#isRunning = false;
    }
  }

  async free() {
    if (this.#isRunning) throw turnRunningError();
    (await this.#engine).free();
  }

  /** Answers an effect by its handler, else by the pack's script, else as a failure. */
  async #answer(engine, effect, text) {
    const { kind } = effect.request;
    const outcome = await this.#effects[kind]?.(effect.request, effect, text);
    if (outcome !== undefined || engine.hasScript(effect.id)) return outcome;
    return { error: { kind: 'unsupported', message: `no handler for effects of the kind '${kind}'; pass one as effects.${kind}` } };
  }
}

function toAnswer({ outcome, notices }) {
  const { intent, state, payload, fault, flow } = outcome;
  const messages = flow?.messages ?? [];
  return {
    text: flow ? messages.map((message) => message.text).join('\n') : (payload?.value ?? fault?.message ?? ''),
    json: payload?.type === 'JSON' ? JSON.parse(payload.value) : undefined,
    success: fault === null,
    intent,
    state,
    fault,
    messages,
    awaiting: flow?.awaiting ?? null,
    status: flow?.status ?? null,
    outcome,
    notices,
  };
}

function turnRunningError() {
  return Object.assign(new Error('a turn of this conversation is still running; await it first'), { code: 'TURN_RUNNING' });
}

/** What is shown while a message is under way. A text that has begun to be read stays for a while; of those that wait the newest counts. */

const READ_MS = 9_000;
const CLOSING = ['ASSISTANT_OUTPUT', 'ENGINE_RETURN'];

/** The text that an event carries, if any: any event may. */
export function textOf(data) {
  const verbose = isObject(data?.verbose) ? data.verbose : data?.payload?.verbose;
  if (!isObject(verbose)) return undefined;
  const texts = ['text', 'message', 'errorMessage'].map((key) => (typeof verbose[key] === 'string' ? verbose[key].trim() : ''));
  return texts.find((it) => it !== '');
}

export class Progress {
  #shown;
  #since = 0;
  #waiting;
  #timer;
  #show;

  /** `show` is called with the text, or with nothing when there is none. */
  constructor(show) {
    this.#show = show;
  }

  heard({ stage, data }) {
    const text = textOf(data);
    if (text !== undefined) this.#say(text);
    if (CLOSING.includes(String(stage ?? '').trim().toUpperCase())) {
      this.#waiting = undefined;
      this.#later(() => this.#set(undefined));
    }
  }

  /** The reply has come. What waits is not cancelled: that is for the closing event to do. */
  replied() {
    if (this.#waiting === undefined) clearTimeout(this.#timer);
    this.#set(undefined);
  }

  #say(text) {
    if (this.#shown === undefined) return this.#set(text);
    this.#waiting = text;
    this.#later(() => {
      const next = this.#waiting;
      this.#waiting = undefined;
      this.#set(next);
    });
  }

  /** When the shown text has had its time. */
  #later(act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, Math.max(0, this.#since + READ_MS - performance.now()));
  }

  #set(text) {
    this.#shown = text;
    this.#show(text);
    // Its time begins when it stands there, however long that took.
    if (text !== undefined) this.#since = performance.now();
  }
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

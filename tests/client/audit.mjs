/** The audit of the conversation as cards, fetched anew whenever something has happened. */
import { element } from './text.mjs';

export class Audit {
  #fetch;
  #asked = 0;
  #shown = 0;

  /** `fetch` gets the rows. */
  constructor(fetch) {
    this.#fetch = fetch;
  }

  async refresh() {
    const number = ++this.#asked;
    let cards = [];
    let error = '';
    try {
      const found = await this.#fetch();
      cards = (Array.isArray(found) ? found : (found?.entries ?? [])).map(cardOf);
    } catch (problem) {
      error = problem.message;
    }
    // Answers overtake each other; an older one shows nothing new.
    if (number < this.#shown) return;
    this.#shown = number;
    document.querySelector('#audit-cards').replaceChildren(...cards);
    Object.assign(document.querySelector('#audit-error'), { textContent: error, hidden: error === '' });
  }
}

/** A payload must be a text of JSON: an object would be shown as `[object Object]`. */
function cardOf(entry) {
  const text = String(entry.payloadJson ?? entry.payload_json ?? entry.payload);
  let said = text;
  try {
    said = JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    // It is shown as it came.
  }
  const made = element('li', '', { 'data-stage': entry.stage });
  made.append(element('b', entry.stage), element('pre', said));
  return made;
}

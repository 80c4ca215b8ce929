/** A page with the client, and everything that it sends and hears. */
import { join } from 'node:path';
import { isOfEngine } from '../../../tests/client/serve.mjs';
import { WITHIN_MS } from '../chromium.mjs';

export const MODES = ['fullscreen', 'side', 'panel'];

export class Chat {
  /** What the page wrote to its console as errors. */
  complaints = [];
  /** The calls in the order in which they left: `{path, body, bytes, headers, sent, ended, status}`. */
  calls = [];
  /** The addresses of WebSockets, and what came in on them. */
  sockets = [];
  #order = 0;

  constructor(context, way) {
    Object.assign(this, way);
    this.context = context;
  }

  get hasStream() {
    return this.transport !== 'none';
  }

  /** Where the page finds the engine. */
  get server() {
    return this.origin === 'cross' ? this.engine : this.elsewhere;
  }

  get hasPanels() {
    return this.mode !== 'panel';
  }

  /** Opens the page; `more` goes to its query. */
  async open(more = {}) {
    const query = new URLSearchParams({ transport: this.transport, mode: this.mode, ...more });
    if (this.origin === 'cross') query.set('host', this.engine);
    this.page = await this.context.newPage();
    this.#watch(this.page);
    await this.page.goto(`${this.elsewhere}/?${query}`, { waitUntil: 'load' });
  }

  /** Another page with the same client, for what would disturb this one. */
  async beside(more) {
    const other = new Chat(this.context, { ...this });
    await other.open(more);
    return other;
  }

  #watch(page) {
    this.complaints = [];
    this.calls = [];
    this.sockets = [];
    page.on('console', (it) => it.type() === 'error' && this.complaints.push(it.text()));
    page.on('pageerror', (it) => this.complaints.push(it.message));
    page.on('request', (it) => this.#sent(it));
    page.on('requestfinished', (it) => this.#ended(it));
    page.on('response', (it) => Object.assign(this.#call(it.request()) ?? {}, { status: it.status(), type: it.headers()['content-type'] }));
    page.on('websocket', (it) => {
      const socket = { url: it.url(), frames: [] };
      this.sockets.push(socket);
      it.on('framereceived', ({ payload }) => socket.frames.push(payload));
    });
  }

  #sent(request) {
    const url = new URL(request.url());
    if (url.origin !== this.server || !isOfEngine(url.pathname)) return;
    const bytes = request.postDataBuffer()?.length ?? 0;
    const call = { request, method: request.method(), path: url.pathname, bytes, headers: request.headers(), sent: ++this.#order };
    if (bytes > 0) call.body = request.postDataJSON();
    this.calls.push(call);
  }

  #call(request) {
    return this.calls.find((it) => it.request === request);
  }

  #ended(request) {
    Object.assign(this.#call(request) ?? {}, { ended: ++this.#order });
  }

  /** The calls to a path that ends so. */
  to(end) {
    return this.calls.filter((it) => it.path.endsWith(end));
  }

  messages() {
    return this.to('/message');
  }

  /** The status of the answer to a call. The driver hears of it later than the page does. */
  async statusOf(call) {
    await this.until(`the answer to ${call.path}`, () => call.status !== undefined);
    return call.status;
  }

  seen() {
    return this.page.evaluate(() => globalThis.seen);
  }

  /** Types a message; does not wait for its answer. */
  async type(text) {
    await this.page.getByRole('textbox', { name: 'Message' }).fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Sends messages faster than anybody types, and presses New chat for each null; answers whether the client takes more. */
  atOnce(...texts) {
    return this.page.evaluate((all) => {
      const composer = document.querySelector('#text');
      for (const text of all) {
        if (text === null) document.querySelector('#new').click();
        else {
          composer.value = text;
          document.querySelector('#composer').requestSubmit();
        }
      }
      return !composer.disabled;
    }, texts);
  }

  bubbles(role) {
    return this.page.locator(`#transcript > [data-role="${role}"]`);
  }

  /** Sends a message and answers the bubble of its reply. */
  async say(text) {
    const before = await this.bubbles('assistant').count();
    await this.type(text);
    return this.reply(before);
  }

  /** The bubble of the reply with this number, when it is there. */
  async reply(number) {
    const bubble = this.bubbles('assistant').nth(number);
    await bubble.waitFor();
    return bubble;
  }

  /** Waits until the page or what was seen of it is as it should be. */
  async until(what, condition) {
    const end = Date.now() + WITHIN_MS;
    while (!(await condition())) {
      if (Date.now() > end) throw new Error(`waited ${WITHIN_MS} ms for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  async picture(name) {
    if (!this.screenshots) return;
    await this.page.screenshot({ path: join(this.screenshots, `${name}-${this.mode}-${this.transport}-${this.origin}.png`) });
  }
}

/** What a person at the desk sees and does. */
import { DeskApi, Refusal, newEventId } from './api';
import { type Identity, storeIdentity, storedIdentity } from './identity';
import { addedByUser } from './transcript';
import type { Conversation, Result, Row } from './types';

const MIN_RETRY_MS = 1000;
const MAX_RETRY_MS = 15_000;

/** What the page says while it has no connection. */
export const LOST = 'Connection lost. Reconnecting…';

/** Where the page puts the focus next. */
export type FocusTarget = 'conversation' | 'message' | 'list';

export class DeskState {
  identity = $state<Identity | undefined>();
  /** Why signing in failed. */
  signInError = $state('');
  rows = $state.raw<Row[]>([]);
  /** The open conversation. */
  current = $state.raw<Conversation | undefined>();
  /** Whether the open conversation has left the desk. */
  isGone = $state(false);
  connection = $state<'connecting' | 'live' | 'lost'>('connecting');
  /** What a screen reader announces, and what went wrong. */
  notice = $state('');
  problem = $state('');
  busy = $state(false);
  focus = $state<FocusTarget | undefined>();
  waiting = $derived(this.rows.filter((it) => it.state === 'waiting'));
  running = $derived(this.rows.filter((it) => it.state === 'running'));
  isMine = $derived(this.current?.handoff?.author === this.identity?.name && this.current?.handoff?.state === 'accepted');

  private api = new DeskApi('');
  private watching: AbortController | undefined;
  private reading: Promise<void> | undefined;
  private isStale = false;
  /** The key of the last action, which a retry repeats. */
  private pending: { action: string; eventId: string } | undefined;

  constructor() {
    const stored = storedIdentity();
    if (stored) void this.signIn(stored);
  }

  async signIn(identity: Identity): Promise<void> {
    this.signInError = '';
    this.api = new DeskApi(identity.credential);
    try {
      this.rows = await this.api.list();
    } catch (error) {
      this.signInError = error instanceof Refusal ? error.message : 'The server cannot be reached.';
      return;
    }
    this.identity = { ...identity, name: this.api.author ?? identity.name };
    storeIdentity(this.identity);
    this.watching = new AbortController();
    void this.watch(this.watching.signal);
  }

  signOut(reason = ''): void {
    this.watching?.abort();
    storeIdentity(undefined);
    this.identity = undefined;
    this.current = undefined;
    this.rows = [];
    this.signInError = reason;
    this.notice = '';
    this.problem = '';
  }

  async open(session: string): Promise<void> {
    await this.attempt(async () => {
      this.current = await this.api.read(session);
      this.isGone = false;
      this.problem = '';
      this.focus = 'conversation';
    });
  }

  closeView(): void {
    this.current = undefined;
    this.isGone = false;
    this.focus = 'list';
  }

  /** Opens the conversation after or before the open one in the list. */
  async openNext(step: 1 | -1): Promise<void> {
    const all = [...this.waiting, ...this.running];
    const at = all.findIndex((it) => it.session_id === this.current?.session_id);
    const next = at < 0 ? all[step > 0 ? 0 : all.length - 1] : all[(at + step + all.length) % all.length];
    if (next) await this.open(next.session_id);
  }

  async take(): Promise<void> {
    if (await this.act('take', {})) {
      this.notice = 'The conversation is yours.';
      this.focus = 'message';
    }
  }

  /** Sends a message; returns whether it was sent. */
  async send(text: string): Promise<boolean> {
    return (await this.act('messages', { text })) !== undefined;
  }

  async giveBack(vars: Record<string, unknown>, message: string): Promise<void> {
    const result = await this.act('return', { vars, ...(message && { message }) });
    if (result) this.leave(ignored(result) ? 'Returned; the assistant did not accept all values.' : 'Returned to the assistant.');
  }

  async finish(message: string): Promise<void> {
    if (await this.act('close', { ...(message && { message }) })) this.leave('Closed.');
  }

  private leave(notice: string): void {
    this.closeView();
    this.notice = notice;
  }

  /** Runs an action of this person on the open conversation. Sends the same action again with the same key. */
  private async act(action: 'take' | 'messages' | 'return' | 'close', body: object): Promise<Result | undefined> {
    const session = this.current?.session_id;
    const author = this.identity?.name;
    if (session === undefined || author === undefined || this.busy) return undefined;
    const name = `${session} ${action} ${JSON.stringify(body)}`;
    if (this.pending?.action !== name) this.pending = { action: name, eventId: newEventId() };
    const eventId = this.pending.eventId;
    this.busy = true;
    this.problem = '';
    try {
      const result = await this.attempt(() => this.api.act(session, action, { ...body, author, event_id: eventId }));
      if (result) this.pending = undefined;
      await this.refresh();
      return result;
    } finally {
      this.busy = false;
    }
  }

  /** Runs a call and reports what it could not do. */
  private async attempt<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  private report(error: unknown): void {
    if (!(error instanceof Refusal)) this.problem = 'The server cannot be reached. Nothing was sent; try again.';
    else if (error.status === 401) this.signOut('Your key is no longer accepted. Sign in again.');
    else if (error.code === 'handoff_taken') this.problem = `${error.author ?? 'A colleague'} was faster and has this conversation.`;
    else if (['not_handed_off', 'not_at_desk', 'session_completed'].includes(error.code)) {
      this.problem = 'This conversation has left the desk.';
      this.isGone = true;
    } else this.problem = error.message;
  }

  /** Follows the changes of the server, and reconnects when the connection drops. */
  private async watch(signal: AbortSignal): Promise<void> {
    let retryMs = MIN_RETRY_MS;
    const changed = () => {
      if (this.connection === 'lost') this.notice = 'Connected again.';
      this.connection = 'live';
      retryMs = MIN_RETRY_MS;
      void this.refresh();
    };
    while (!signal.aborted) {
      // A browser that goes offline keeps its streams open.
      const offline = new AbortController();
      addEventListener('offline', () => offline.abort(), { signal: offline.signal });
      try {
        await this.api.watch(changed, AbortSignal.any([signal, offline.signal]));
      } catch (error) {
        if (error instanceof Refusal && [401, 403].includes(error.status)) this.signOut(error.message);
      }
      offline.abort();
      if (signal.aborted) return;
      if (this.connection !== 'lost') this.notice = LOST;
      this.connection = 'lost';
      await pause(retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  }

  /** Reads the list and the open conversation. Changes that arrive meanwhile are read afterwards, once. */
  private refresh(): Promise<void> {
    this.isStale = true;
    this.reading ??= this.readChanges().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readChanges(): Promise<void> {
    try {
      while (this.isStale) {
        this.isStale = false;
        const before = new Set(this.waiting.map((it) => it.session_id));
        const rows = await this.api.list();
        const isNew = rows.some((it) => it.state === 'waiting' && !before.has(it.session_id));
        this.rows = rows;
        if (isNew) this.notice = `${this.waiting.length} waiting.`;
        await this.refreshCurrent();
      }
    } catch {
      // The next change or reconnection reads again.
    }
  }

  private async refreshCurrent(): Promise<void> {
    const open = this.current;
    if (!open || this.isGone) return;
    if (!this.rows.some((it) => it.session_id === open.session_id)) {
      this.isGone = true;
      return;
    }
    const found = await this.api.read(open.session_id);
    if (this.current?.session_id !== found.session_id || found.seq === open.seq) return;
    this.current = found;
    const added = addedByUser(open.history, found.history);
    if (added.length > 0) this.notice = `New message: ${added.map((it) => it.text).join(' ')}`;
  }
}

/** Waits, but not longer than until the browser is online again. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener('online', done);
  });
}

function ignored(result: Result): boolean {
  return result.warnings?.includes('handoff.variable_ignored') ?? false;
}

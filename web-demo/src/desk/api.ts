/** Calls of `/v1/desk`. */
import { createParser } from 'eventsource-parser';
import type { Conversation, Page, Result, Row } from './types';

const PREFIX = '/v1/desk';

/** Pages of the list that are read at most. */
const MAX_PAGES = 10;

/** A stream that is silent for longer than two heartbeats is dead. */
const SILENCE_MS = 45_000;

/** A refusal of the server. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The person who has the conversation. */
    readonly author: string | undefined,
  ) {
    super(message);
  }
}

/** The routes of the desk with a caller's credential. */
export class DeskApi {
  /** The name that users see, as the server says with the list. */
  author: string | null = null;

  /** A key or token; empty where the server asks for none. */
  constructor(private readonly credential: string) {}

  async list(): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor = '';
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const found = await this.request<Page>('GET', `/conversations?limit=200${cursor}`);
      rows.push(...found.conversations);
      this.author = found.author;
      if (found.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(found.next_cursor)}`;
    }
    return rows;
  }

  read(session: string): Promise<Conversation> {
    return this.request('GET', `/conversations/${session}`);
  }

  act(session: string, action: 'take' | 'messages' | 'return' | 'close', body: object): Promise<Result> {
    return this.request('POST', `/conversations/${session}/${action}`, body);
  }

  /** Calls `changed` at the beginning of the stream and for each change. Returns when the stream ends. */
  async watch(changed: () => void, signal: AbortSignal): Promise<void> {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const response = await fetch(`${PREFIX}/events`, { headers: this.headers(), signal: AbortSignal.any([signal, silence.signal]) });
      if (!response.ok) throw await refusal(response);
      const parser = createParser({ onEvent: changed });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        parser.feed(part.value);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private async request<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { ...this.headers(), ...(body && { 'Content-Type': 'application/json' }) };
    const response = await fetch(PREFIX + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    if (!response.ok) throw await refusal(response);
    return (await response.json()) as T;
  }

  private headers(): Record<string, string> {
    return this.credential === '' ? {} : { Authorization: `Bearer ${this.credential}` };
  }
}

async function refusal(response: Response): Promise<Refusal> {
  const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string; author?: string } };
  const { code = '', message = `the server answered with status ${response.status}`, author } = body.error ?? {};
  return new Refusal(response.status, code, message, author);
}

/** An idempotency key. `crypto.randomUUID` exists on secure origins only. */
export function newEventId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (it) => it.toString(16).padStart(2, '0')).join('');
}

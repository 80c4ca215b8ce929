import { elementTexts, memberText } from '../json-text';
import type { Effect } from '../types';
import type { GuestError } from './guest';
import type { Answered, Asked } from './guest-worker';

/** What calling an extension needs of the engine. */
export interface ExtensionEngine {
  module(sha256: string): Uint8Array | undefined;
  extended(effect: string, said: Uint8Array | undefined, failure: string, at?: number): string;
}

/** A request for a call, as the core writes it. */
interface Request {
  extension: string;
  module: string;
  memory_bytes: number;
  timeout_ms: number;
}

/**
 * Runs extensions in a worker of their own.
 *
 * One that runs away is stopped by ending that worker, which nothing else can do; the engine's worker goes on.
 */
export class Extensions {
  /** Settles when modules can be called, so that the page needs nothing from its server later. */
  readonly ready: Promise<void>;
  private worker: Worker;
  private here: Promise<void>;
  private prepared = new Set<string>();

  constructor() {
    [this.worker, this.here] = open();
    this.ready = this.here.catch(() => {});
  }

  /** Answers an effect in the engine's form; nothing when it is no call of an extension. */
  answer(engine: ExtensionEngine, effect: Effect, text: string, now?: () => number): Promise<string> | undefined {
    return effect.request.kind === 'extension' ? this.extend(engine, effect, text, now) : undefined;
  }

  /** Says why bytes are no module that can be called; nothing when they are one. */
  async check(extension: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    await this.here;
    const checked = await this.ask({ type: 'prepare', key: 'checked', extension, memoryBytes: 2 ** 32, bytes });
    return checked.type === 'failed' ? checked.error.message : '';
  }

  private async extend(engine: ExtensionEngine, effect: Effect, text: string, now?: () => number): Promise<string> {
    const request = effect.request as unknown as Request;
    const messages = elementTexts(memberText(text, 'request') ?? '{}', 'messages');
    const answered = await this.call(engine, request, messages);
    const said = answered.type === 'said' ? answered.said : undefined;
    const failure = answered.type === 'failed' ? JSON.stringify({ error: answered.error }) : '';
    return now ? engine.extended(text, said, failure, now()) : engine.extended(text, said, failure);
  }

  private async call(engine: ExtensionEngine, request: Request, messages: string[]): Promise<Answered> {
    const { extension, module, memory_bytes: memoryBytes, timeout_ms: limit } = request;
    const failed = (kind: string, reason: string): Answered => {
      const error: GuestError = { kind, message: `the extension '${extension}' ${reason}` };
      return { type: 'failed', error };
    };
    const reason = await this.here.then(() => '', (it: Error) => it.message);
    if (reason) return failed('unsupported', `cannot run here: ${reason}`);
    const key = `${module}/${memoryBytes}`;
    if (!this.prepared.has(key)) {
      const bytes = engine.module(module) as Uint8Array<ArrayBuffer> | undefined;
      if (!bytes) return failed('not_found', `has no module ${module}: import it again`);
      const prepared = await this.ask({ type: 'prepare', key, extension, memoryBytes, bytes });
      if (prepared.type !== 'prepared') return prepared;
      this.prepared.add(key);
    }
    const call = { extension, messages, memoryBytes };
    return this.ask({ type: 'call', key, call }, { limit, late: failed('timeout', `took longer than ${limit} ms`) });
  }

  /** The engine asks for one call at a time, so the next answer is that to this question. */
  private ask(asked: Asked, time?: { limit: number; late: Answered }): Promise<Answered> {
    return new Promise((resolve) => {
      const timer = time && setTimeout(() => this.replace(resolve, time.late), time.limit);
      this.worker.onmessage = (event: MessageEvent<Answered>) => {
        clearTimeout(timer);
        resolve(event.data);
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        clearTimeout(timer);
        this.replace(resolve, { type: 'failed', error: { kind: 'interrupted', message: event.message } });
      };
      this.worker.postMessage(asked);
    });
  }

  private replace(resolve: (answered: Answered) => void, answered: Answered): void {
    this.worker.terminate();
    this.prepared.clear();
    [this.worker, this.here] = open();
    resolve(answered);
  }
}

function open(): [Worker, Promise<void>] {
  const worker = new Worker(new URL('./guest-worker.ts', import.meta.url), { type: 'module' });
  const here = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => reject(new Error(event.message || 'what runs extensions could not be loaded'));
  });
  // Whoever calls an extension hears of it.
  here.catch(() => {});
  return [worker, here];
}

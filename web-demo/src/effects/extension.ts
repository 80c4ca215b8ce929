import type { Answer, Effect } from '../types';
import type { GuestFailure } from './guest';
import type { GuestReply, GuestRequest } from './guest-worker';

/** The engine methods that extension calls need. */
export interface ExtensionEngine {
  module(sha256: string): Uint8Array | undefined;
  extensionMessages(effect: string): string[];
  completeExtension(effect: string, output: Uint8Array | undefined, failure: string, at?: number): Answer;
}

/** An extension request of the core. */
interface ExtensionRequest {
  extension: string;
  module: string;
  memory_bytes: number;
  timeout_ms: number;
}

/**
 * Runs extensions in their own worker.
 *
 * A runaway extension can only be stopped by terminating its worker; the engine's worker is not affected.
 */
export class ExtensionRunner {
  /** Resolves when the worker is loaded, so that the page needs nothing more from its server. */
  readonly ready: Promise<void>;
  private worker: Worker;
  private loaded: Promise<void>;
  private prepared = new Set<string>();

  constructor() {
    [this.worker, this.loaded] = startWorker();
    this.ready = this.loaded.catch(() => {});
  }

  /** Answers an effect; undefined if it is not an extension call. */
  answer(engine: ExtensionEngine, effect: Effect, text: string, now?: () => number): Promise<Answer> | undefined {
    return effect.request.kind === 'extension' ? this.callExtension(engine, effect, text, now) : undefined;
  }

  /** Checks that bytes are a callable module; returns the problem, or an empty text. */
  async check(extension: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    await this.loaded;
    const checked = await this.request({ type: 'prepare', key: 'checked', extension, memoryBytes: 2 ** 32, bytes });
    return checked.type === 'failed' ? checked.error.message : '';
  }

  private async callExtension(engine: ExtensionEngine, effect: Effect, text: string, now?: () => number): Promise<Answer> {
    const request = effect.request as unknown as ExtensionRequest;
    const reply = await this.runCall(engine, request, engine.extensionMessages(text));
    const output = reply.type === 'output' ? reply.output : undefined;
    const failure = reply.type === 'failed' ? JSON.stringify({ error: reply.error }) : '';
    return now ? engine.completeExtension(text, output, failure, now()) : engine.completeExtension(text, output, failure);
  }

  private async runCall(engine: ExtensionEngine, request: ExtensionRequest, messages: string[]): Promise<GuestReply> {
    const { extension, module, memory_bytes: memoryBytes, timeout_ms: limit } = request;
    const failure = (kind: string, reason: string): GuestReply => {
      const error: GuestFailure = { kind, message: `the extension '${extension}' ${reason}` };
      return { type: 'failed', error };
    };
    const reason = await this.loaded.then(() => '', (it: Error) => it.message);
    if (reason) return failure('unsupported', `cannot run here: ${reason}`);
    const key = `${module}/${memoryBytes}`;
    if (!this.prepared.has(key)) {
      const bytes = engine.module(module) as Uint8Array<ArrayBuffer> | undefined;
      if (!bytes) return failure('not_found', `has no module ${module}: import it again`);
      const prepared = await this.request({ type: 'prepare', key, extension, memoryBytes, bytes });
      if (prepared.type !== 'prepared') return prepared;
      this.prepared.add(key);
    }
    const call = { extension, messages, memoryBytes };
    return this.request({ type: 'call', key, call }, { limit, timeoutReply: failure('timeout', `took longer than ${limit} ms`) });
  }

  /** Sends a request. The engine makes one call at a time, so the next message is its reply. */
  private request(request: GuestRequest, timeout?: { limit: number; timeoutReply: GuestReply }): Promise<GuestReply> {
    return new Promise((resolve) => {
      const timer = timeout && setTimeout(() => this.restartWorker(resolve, timeout.timeoutReply), timeout.limit);
      this.worker.onmessage = (event: MessageEvent<GuestReply>) => {
        clearTimeout(timer);
        resolve(event.data);
      };
      this.worker.onerror = (event) => {
        event.preventDefault();
        clearTimeout(timer);
        this.restartWorker(resolve, { type: 'failed', error: { kind: 'interrupted', message: event.message } });
      };
      this.worker.postMessage(request);
    });
  }

  private restartWorker(resolve: (reply: GuestReply) => void, reply: GuestReply): void {
    this.worker.terminate();
    this.prepared.clear();
    [this.worker, this.loaded] = startWorker();
    resolve(reply);
  }
}

function startWorker(): [Worker, Promise<void>] {
  const worker = new Worker(new URL('./guest-worker.ts', import.meta.url), { type: 'module' });
  const loaded = new Promise<void>((resolve, reject) => {
    worker.onmessage = () => resolve();
    worker.onerror = (event) => reject(new Error(event.message || 'the extension worker could not be loaded'));
  });
  // The failure is reported by the next call.
  loaded.catch(() => {});
  return [worker, loaded];
}

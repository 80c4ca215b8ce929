import type { ScriptRunner } from '../effects/script';
import type { ScriptFunction } from './module';
import type { ScriptReply, ScriptRequest } from './script-worker';

/** The script took longer than its time limit. */
export class ScriptTimeout extends Error {
  override readonly name = 'ScriptTimeout';
}

/** The part of a worker that a runner uses. */
export interface ScriptWorker {
  onmessage: ((event: MessageEvent<ScriptReply>) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  postMessage(request: ScriptRequest): void;
  terminate(): void;
}

/** A check needs a fraction of it on any machine. */
const CHECK_TIMEOUT_MS = 30_000;

/** Fetches and compiles the interpreter; its calls run in their own worker, one after the other. */
export async function createScriptRunner(url: string | URL): Promise<ScriptRunner> {
  return new WorkerRunner(await compileModule(url), startWorker);
}

/**
 * Runs scripts in a worker.
 *
 * A script that exceeds its time can only be stopped by terminating its worker, so the next call starts another.
 */
export class WorkerRunner implements ScriptRunner {
  private worker: Promise<ScriptWorker> | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly module: WebAssembly.Module,
    private readonly start: () => ScriptWorker,
  ) {}

  run(input: string, timeoutMs: number): Promise<string> {
    return this.enqueue('run', input, timeoutMs);
  }

  check(code: string): Promise<string> {
    return this.enqueue('check', JSON.stringify({ code }), CHECK_TIMEOUT_MS);
  }

  /** Calls the module after all earlier calls, so that the time of a call does not include theirs. */
  private enqueue(name: ScriptFunction, input: string, timeoutMs: number): Promise<string> {
    const call = this.last.then(() => this.call(name, input, timeoutMs));
    this.last = call.catch(() => {});
    return call;
  }

  private async call(name: ScriptFunction, input: string, timeoutMs: number): Promise<string> {
    this.worker ??= this.load();
    const worker = await this.worker.catch((error: unknown) => {
      this.worker = undefined;
      throw error;
    });
    return new Promise((resolve, reject) => {
      const stop = (error: Error) => {
        worker.terminate();
        this.worker = undefined;
        reject(error);
      };
      const timer = setTimeout(() => stop(new ScriptTimeout(`the script took longer than ${timeoutMs} ms`)), timeoutMs);
      worker.onmessage = ({ data }) => {
        clearTimeout(timer);
        if (data.type === 'output') resolve(data.output);
        else stop(new Error(data.type === 'failed' ? data.message : 'the interpreter was started twice'));
      };
      worker.onerror = (event) => {
        event.preventDefault();
        clearTimeout(timer);
        stop(new Error(event.message));
      };
      worker.postMessage({ name, input });
    });
  }

  /** Starts a worker, and resolves when it can be called. */
  private load(): Promise<ScriptWorker> {
    const worker = this.start();
    return new Promise((resolve, reject) => {
      worker.onmessage = () => {
        worker.postMessage({ module: this.module });
        resolve(worker);
      };
      worker.onerror = (event) => reject(new Error(event.message || 'the script worker could not be loaded'));
    });
  }
}

function startWorker(): ScriptWorker {
  return new Worker(new URL('./script-worker.ts', import.meta.url), { type: 'module' });
}

async function compileModule(url: string | URL): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (response.status === 404) throw new Error('the interpreter is not available yet; try again when it has been built');
  if (!response.ok) throw new Error(`the interpreter could not be loaded: status ${response.status}`);
  // Compiling while loading requires a content type that not every server sends.
  const streamed = response.headers.get('content-type') === 'application/wasm';
  return streamed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

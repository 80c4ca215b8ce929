import type { Decision, Failure, TurnJournal, LoadedPack, PlayedTurn, Progress, Reply, Request, Run } from './protocol';
import type { ScriptIssue } from './effects/script';
import type { Issue, JsonObject, StepSessions, TurnDetails, TurnRecord } from './types';

/** A failed engine request. */
export class EngineError extends Error {
  readonly code: string;

  constructor(failure: Failure) {
    super(failure.message);
    this.code = failure.code;
    this.name = failure.code;
  }
}

type ProgressListener = (progress: Progress) => void;
type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never;

interface PendingRequest {
  resolve(reply: Reply): void;
  reject(error: EngineError): void;
  onProgress: ProgressListener | undefined;
}

const PING_MS = 1000;
/** Pings that the worker may leave unanswered. Its longest task, compiling thousands of rows on a slow machine, takes less. */
const MAX_UNANSWERED_PINGS = 15;

/** Runs the engine in a worker, and replaces a worker that crashed or no longer responds. */
export class EngineClient {
  private worker = this.startWorker();
  private readonly pending = new Map<number, PendingRequest>();
  /** Request ids of running turns, by name. */
  private readonly requestIds = new Map<number, number>();
  private lastId = 0;
  private hasResponded = false;
  /** Consecutive unanswered pings. */
  private unansweredPings = 0;
  private pings: ReturnType<typeof setInterval> | undefined;
  private fatalError: EngineError | undefined;

  /** @param onRestart is called after the engine was replaced by an empty one */
  constructor(private readonly onRestart: (error: EngineError) => void) {}

  /** Compiles a pack. A strict load keeps the current configuration if the new one adds errors. */
  load(pack: string, strict: boolean): Promise<LoadedPack> {
    return this.request({ type: 'load', pack, strict }, 'loaded');
  }

  /** Runs one turn; `name` identifies it for `decide` and `stop`. */
  async run(name: number, run: Run, onProgress: ProgressListener): Promise<TurnRecord> {
    const reply = this.request({ type: 'run', ...run }, 'turn', onProgress);
    this.requestIds.set(name, this.lastId);
    return (await reply.finally(() => this.requestIds.delete(name))).turn;
  }

  /** Answers an effect that waits for a person. */
  async decide(name: number, effect: number, decision: Decision): Promise<void> {
    await this.request({ type: 'answer', run: this.requestIds.get(name) ?? 0, effect, decision }, 'done');
  }

  /** Stops a turn that waits for a person. */
  async stop(name: number): Promise<void> {
    await this.request({ type: 'stop', run: this.requestIds.get(name) ?? 0 }, 'done');
  }

  /** Discards the keys and secrets of recent turns. */
  async forgetKeys(): Promise<void> {
    await this.request({ type: 'forgetKeys' }, 'done');
  }

  /** Replays a turn from its journal, on its own pack, after its parent. */
  async replay(journal: string, pack: string, parent: number | null): Promise<TurnRecord> {
    return (await this.request({ type: 'replay', journal, pack, parent }, 'turn')).turn;
  }

  /** Replays a turn to get its steps and explanations. */
  async inspect(turn: number): Promise<TurnDetails> {
    const { steps, explanations, stateHash } = await this.request({ type: 'inspect', turn }, 'details');
    return { steps, explanations, stateHash };
  }

  /** Returns the session before and after a step. */
  async sessionsAround(turn: number, index: number): Promise<StepSessions> {
    return this.request({ type: 'step', turn, index }, 'step');
  }

  /** Returns the journals of turns, with their packs. */
  async journals(turns: number[]): Promise<TurnJournal[]> {
    return (await this.request({ type: 'journals', turns }, 'journals')).journals;
  }

  /** Runs all turns of a pack without storing them. */
  async play(pack: string): Promise<PlayedTurn[]> {
    return (await this.request({ type: 'play', pack }, 'played')).turns;
  }

  /** Returns the ids that the conversations of a talk have, by their labels. */
  async conversationIds(labels: string[]): Promise<string[]> {
    return (await this.request({ type: 'conversationIds', labels }, 'conversationIds')).ids;
  }

  /** Checks that a module is an extension; returns the problem, or an empty text. */
  async checkExtension(extension: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    return (await this.request({ type: 'check', extension, bytes }, 'checked')).problem;
  }

  /** Runs extension calls of a pack outside any turn; returns the completions. */
  async callExtensions(pack: string, effects: string[]): Promise<string[]> {
    return (await this.request({ type: 'extend', pack, effects }, 'extended')).completions;
  }

  /** Searches a knowledge base of the running pack; takes and returns JSON text. */
  async searchKnowledge(search: string): Promise<string> {
    return (await this.request({ type: 'search', search }, 'found')).found;
  }

  /** Lists what the interpreter finds in each of several scripts. */
  async checkScripts(codes: string[]): Promise<ScriptIssue[][]> {
    return (await this.request({ type: 'checkScripts', codes }, 'scriptIssues')).issues;
  }

  /** Lints a pack; returns all its issues. */
  async lint(pack: string): Promise<Issue[]> {
    return (await this.request({ type: 'lint', pack }, 'issues')).issues;
  }

  /** Matches texts against the pattern of a row; null where matching takes too many steps. */
  async match(kind: string, pattern: string, texts: string[]): Promise<(boolean | null)[]> {
    return (await this.request({ type: 'match', kind, pattern, texts }, 'matches')).matches;
  }

  /** Returns the JSON Schema of documents of a kind, such as `workflow_chain`. */
  async documentSchema(doc: string): Promise<JsonObject> {
    return JSON.parse((await this.request({ type: 'schema', doc }, 'schema')).schema) as JsonObject;
  }

  /** Deletes turns that cannot be continued any more. */
  async deleteTurns(turns: number[]): Promise<void> {
    if (turns.length > 0) await this.request({ type: 'forget', turns }, 'done');
  }

  private request<T extends Reply['type']>(request: WithoutId<Request>, type: T, onProgress?: ProgressListener) {
    if (this.fatalError) return Promise.reject(this.fatalError);
    const id = ++this.lastId;
    return new Promise<Extract<Reply, { type: T }>>((resolve, reject) => {
      this.pending.set(id, {
        resolve: (reply) => {
          if (reply.type === type) resolve(reply as Extract<Reply, { type: T }>);
          else if (reply.type === 'failed') reject(new EngineError(reply));
        },
        reject,
        onProgress,
      });
      this.worker.postMessage({ ...request, id } as Request);
      this.pings ??= setInterval(() => this.ping(), PING_MS);
    });
  }

  /** Checks that the worker responds while requests are pending. A turn that waits for a person does not block it. */
  private ping(): void {
    if (this.pending.size === 0) {
      clearInterval(this.pings);
      this.pings = undefined;
    } else if (this.hasResponded && ++this.unansweredPings > MAX_UNANSWERED_PINGS) {
      const message = `it did not respond for ${(MAX_UNANSWERED_PINGS * PING_MS) / 1000} s and was terminated`;
      this.restart({ code: 'ENGINE_STOPPED', message, fatal: true });
    } else {
      this.worker.postMessage({ id: 0, type: 'ping' } satisfies Request);
    }
  }

  private startWorker(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (event: MessageEvent<Reply | Progress>) => this.receive(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const failure = { code: 'ENGINE_STOPPED', message: event.message || 'the engine could not be loaded', fatal: true };
      // A worker that never responded will not load the second time either.
      if (this.hasResponded) this.restart(failure);
      else this.rejectPending((this.fatalError = new EngineError(failure)));
    };
    return worker;
  }

  private receive(message: Reply | Progress): void {
    this.hasResponded = true;
    this.unansweredPings = 0;
    const pending = this.pending.get(message.id);
    if (isProgress(message)) {
      pending?.onProgress?.(message);
      return;
    }
    this.pending.delete(message.id);
    pending?.resolve(message);
    if (message.type === 'failed' && message.fatal) this.restart(message);
  }

  private restart(failure: Failure): void {
    this.worker.terminate();
    this.worker = this.startWorker();
    this.hasResponded = false;
    this.unansweredPings = 0;
    const error = new EngineError(failure);
    this.rejectPending(error);
    this.onRestart(error);
  }

  private rejectPending(error: EngineError): void {
    const rejected = [...this.pending.values()];
    this.pending.clear();
    rejected.forEach((it) => it.reject(error));
  }
}

function isProgress(message: Reply | Progress): message is Progress {
  return ['notices', 'effect', 'token', 'ask', 'answer', 'restart'].includes(message.type);
}

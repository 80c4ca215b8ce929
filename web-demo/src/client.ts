import type { Decision, Failure, Journaled, Loaded, PlayedTurn, Progress, Reply, Request, Run } from './protocol';
import type { Seen, TurnRecord } from './types';

/** Why the engine did not do what it was asked. */
export class EngineError extends Error {
  readonly code: string;

  constructor(failure: Failure) {
    super(failure.message);
    this.code = failure.code;
    this.name = failure.code;
  }
}

type Follow = (progress: Progress) => void;
type Unnumbered<T> = T extends unknown ? Omit<T, 'id'> : never;

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: EngineError): void;
  follow: Follow | undefined;
}

const PING_MS = 1000;
/** So often the worker may leave a ping unanswered. Its longest work, compiling thousands of rows on a slow machine, takes less. */
const MOST_SILENT = 15;

/** The engine in its worker, with a new worker whenever the old one has stopped or does not listen any more. */
export class EngineClient {
  private worker = this.open();
  private readonly waiting = new Map<number, Waiting>();
  /** The requests that run turns. */
  private readonly names = new Map<number, number>();
  private last = 0;
  private heard = false;
  /** How many pings in a row the worker has left unanswered. */
  private silent = 0;
  private pings: ReturnType<typeof setInterval> | undefined;
  private dead: EngineError | undefined;

  /** @param stopped is told when the engine stopped and an empty one took its place */
  constructor(private readonly stopped: (error: EngineError) => void) {}

  /** Compiles a pack; a strict load keeps the running configuration when the new one has errors. */
  load(pack: string, strict: boolean): Promise<Loaded> {
    return this.ask({ type: 'load', pack, strict }, 'loaded');
  }

  /** Runs one turn; `name` is how `decide` and `stop` call it. */
  async run(name: number, run: Run, follow: Follow): Promise<TurnRecord> {
    const asked = this.ask({ type: 'run', ...run }, 'ran', follow);
    this.names.set(name, this.last);
    return (await asked.finally(() => this.names.delete(name))).turn;
  }

  /** Answers an effect that waits for a person. */
  async decide(name: number, effect: number, decision: Decision): Promise<void> {
    await this.ask({ type: 'answer', run: this.names.get(name) ?? 0, effect, decision }, 'noted');
  }

  /** Gives up a turn that waits for a person. */
  async stop(name: number): Promise<void> {
    await this.ask({ type: 'stop', run: this.names.get(name) ?? 0 }, 'noted');
  }

  /** Lets go of the keys and secrets that the last turns were given. */
  async forgetKeys(): Promise<void> {
    await this.ask({ type: 'forgetKeys' }, 'noted');
  }

  /** Runs a recorded turn again on the pack that it ran on, after another one. */
  async adopt(journal: string, pack: string, parent: number | null): Promise<TurnRecord> {
    return (await this.ask({ type: 'adopt', journal, pack, parent }, 'ran')).turn;
  }

  /** Runs a turn again to see its steps and why it decided as it did. */
  async look(turn: number): Promise<Seen> {
    const { steps, whys, stateHash } = await this.ask({ type: 'look', turn }, 'seen');
    return { steps, whys, stateHash };
  }

  /** Gives the session before and after a step of a turn, as JSON text. */
  async step(turn: number, index: number): Promise<{ before: string; after: string | null }> {
    return this.ask({ type: 'step', turn, index }, 'step');
  }

  /** Gives the journals of turns, with the packs that they ran on. */
  async journals(turns: number[]): Promise<Journaled[]> {
    return (await this.ask({ type: 'journals', turns }, 'journals')).journals;
  }

  /** Plays all turns of a pack and keeps nothing of them. */
  async play(pack: string): Promise<PlayedTurn[]> {
    return (await this.ask({ type: 'play', pack }, 'played')).turns;
  }

  /** Says why a module is no extension; nothing when it is one. */
  async check(extension: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    return (await this.ask({ type: 'check', extension, bytes }, 'checked')).refused;
  }

  /** Answers calls of a pack's extensions outside of any turn. */
  async extend(pack: string, effects: string[]): Promise<string[]> {
    return (await this.ask({ type: 'extend', pack, effects }, 'extended')).completions;
  }

  /** Tells which texts a pattern of a row finds; nothing of one that takes too many steps. */
  async find(kind: string, pattern: string, texts: string[]): Promise<(boolean | null)[]> {
    return (await this.ask({ type: 'find', kind, pattern, texts }, 'found')).found;
  }

  /** Lets the worker forget turns that nobody can go on from. */
  async forget(turns: number[]): Promise<void> {
    if (turns.length > 0) await this.ask({ type: 'forget', turns }, 'noted');
  }

  private ask<T extends Reply['type']>(request: Unnumbered<Request>, type: T, follow?: Follow) {
    if (this.dead) return Promise.reject(this.dead);
    const id = ++this.last;
    return new Promise<Extract<Reply, { type: T }>>((resolve, reject) => {
      this.waiting.set(id, {
        resolve: (reply) => {
          if (reply.type === type) resolve(reply as Extract<Reply, { type: T }>);
          else if (reply.type === 'failed') reject(new EngineError(reply));
        },
        reject,
        follow,
      });
      this.worker.postMessage({ ...request, id } as Request);
      this.pings ??= setInterval(() => this.ping(), PING_MS);
    });
  }

  /** Looks whether the worker still listens while somebody waits for it; a turn that waits for a person does not keep it from that. */
  private ping(): void {
    if (this.waiting.size === 0) {
      clearInterval(this.pings);
      this.pings = undefined;
    } else if (this.heard && ++this.silent > MOST_SILENT) {
      const message = `it was busy for more than ${(MOST_SILENT * PING_MS) / 1000} s, and was ended`;
      this.restart({ code: 'ENGINE_STOPPED', message, fatal: true });
    } else {
      this.worker.postMessage({ id: 0, type: 'ping' } satisfies Request);
    }
  }

  private open(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (event: MessageEvent<Reply | Progress>) => this.receive(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const failure = { code: 'ENGINE_STOPPED', message: event.message || 'the engine could not be loaded', fatal: true };
      // A worker that never said a word will not do so the second time.
      if (this.heard) this.restart(failure);
      else this.abandon((this.dead = new EngineError(failure)));
    };
    return worker;
  }

  private receive(message: Reply | Progress): void {
    this.heard = true;
    this.silent = 0;
    const waiting = this.waiting.get(message.id);
    if (isProgress(message)) {
      waiting?.follow?.(message);
      return;
    }
    this.waiting.delete(message.id);
    waiting?.resolve(message);
    if (message.type === 'failed' && message.fatal) this.restart(message);
  }

  private restart(failure: Failure): void {
    this.worker.terminate();
    this.worker = this.open();
    this.heard = false;
    this.silent = 0;
    const error = new EngineError(failure);
    this.abandon(error);
    this.stopped(error);
  }

  private abandon(error: EngineError): void {
    const left = [...this.waiting.values()];
    this.waiting.clear();
    left.forEach((it) => it.reject(error));
  }
}

function isProgress(message: Reply | Progress): message is Progress {
  return ['notices', 'effect', 'token', 'ask', 'answer', 'again'].includes(message.type);
}

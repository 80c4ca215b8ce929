import type { Answer, Effect, JsonObject } from '../types';

/** The engine methods that scripts need. */
export interface ScriptEngine {
  scriptInput(effect: number): string;
  completeScript(effect: string, output: string | undefined, failure: string, at?: number): Answer;
}

/** Runs the interpreter; a call rejects with a `ScriptTimeout` when its time is over. */
export interface ScriptRunner {
  run(input: string, timeoutMs: number): Promise<string>;
  check(code: string): Promise<string>;
}

/** The time of a script that sets none, as on the server. */
const DEFAULT_TIMEOUT_MS = 2_000;
const MAX_TIMEOUT_MS = 30_000;

/** A syntax error, or something that the interpreter lacks. */
export interface ScriptIssue {
  line: number;
  message: string;
}

/** Answers effects that run a script. The interpreter is loaded with the first one. */
export class ScriptEffects {
  private loading: Promise<ScriptRunner> | undefined;

  constructor(private readonly load: () => Promise<ScriptRunner>) {}

  /** Answers an effect; undefined if it runs no script. */
  answer(engine: ScriptEngine, effect: Effect, text: string): Promise<Answer> | undefined {
    return effect.request.kind === 'script' ? this.run(engine, effect, text) : undefined;
  }

  /** Lists what the interpreter finds in code. */
  async check(code: string): Promise<ScriptIssue[]> {
    const runner = await this.runner();
    return (JSON.parse(await runner.check(code)) as { issues: ScriptIssue[] }).issues;
  }

  private async run(engine: ScriptEngine, effect: Effect, text: string): Promise<Answer> {
    const { timeout_ms: own } = effect.request;
    const limit = Math.min(typeof own === 'number' ? own : DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
    try {
      const runner = await this.runner();
      return engine.completeScript(text, await runner.run(engine.scriptInput(effect.id), limit), '');
    } catch (error) {
      return engine.completeScript(text, undefined, JSON.stringify(toFailure(error as Error, limit)));
    }
  }

  /** Loads the interpreter; the next call retries a failed load. */
  private runner(): Promise<ScriptRunner> {
    this.loading ??= this.load();
    this.loading.catch(() => (this.loading = undefined));
    return this.loading;
  }
}

/** The outcome of a script that was stopped or not run, as on the server. */
function toFailure({ name, message }: Error, limit: number): JsonObject {
  if (name === 'ScriptTimeout') return { ok: { kind: 'script', logs: [], failure: { code: 'timeout', message: `the script took longer than ${limit} ms` } } };
  return { error: { kind: 'unsupported', message: `scripts cannot run here: ${message}` } };
}

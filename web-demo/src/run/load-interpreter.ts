import type { ScriptRunner } from '../effects/script';

/** Loads the Python interpreter, which runs in its own worker. */
export async function loadInterpreter(): Promise<ScriptRunner> {
  throw new Error('the interpreter is not part of this page');
}

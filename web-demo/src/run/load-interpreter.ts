import type { ScriptRunner } from '../effects/script';
import { createScriptRunner } from '../script/runner';

/** Loads the Python interpreter, which runs in its own worker. The file has a stable name, because the server uses it as well. */
export function loadInterpreter(): Promise<ScriptRunner> {
  // Built workers are in a folder below the page.
  return createScriptRunner(new URL(import.meta.env.DEV ? '/python.wasm' : '../python.wasm', self.location.href));
}

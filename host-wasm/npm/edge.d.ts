import type { conversation, createEngine, lint } from './convengine.js';

/**
 * Returns the functions of the package over modules that the runtime has compiled, such as those that it imports from
 * `convengine/engine.wasm` and `convengine/lint.wasm`. Nothing is fetched, read or compiled. A function whose module is missing rejects.
 */
export function fromModules(modules: { engine?: WebAssembly.Module; lint?: WebAssembly.Module }): {
  createEngine: typeof createEngine;
  conversation: typeof conversation;
  lint: typeof lint;
};

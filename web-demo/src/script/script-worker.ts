import { callModule, type ScriptFunction } from './module';

/** Requests: the compiled module once, then calls. */
export type ScriptRequest = { module: WebAssembly.Module } | { name: ScriptFunction; input: string };

/** Replies: `ready` once after loading, then one for each call. */
export type ScriptReply = { type: 'ready' } | { type: 'output'; output: string } | { type: 'failed'; message: string };

let module: WebAssembly.Module | undefined;

self.onmessage = ({ data }: MessageEvent<ScriptRequest>) => {
  if ('module' in data) {
    module = data.module;
    return;
  }
  try {
    if (!module) throw new Error('the interpreter is not loaded');
    post({ type: 'output', output: callModule(module, data.name, data.input) });
  } catch (error) {
    post({ type: 'failed', message: String(error) });
  }
};

post({ type: 'ready' });

function post(reply: ScriptReply): void {
  self.postMessage(reply);
}

import { compileModule, GuestError, callModule, type GuestCall, type CompiledModule, type GuestFailure } from './guest';

/** Requests of the engine's worker: prepare a module, or call a prepared one. */
export type GuestRequest =
  | { type: 'prepare'; key: string; extension: string; memoryBytes: number; bytes: Uint8Array<ArrayBuffer> }
  | { type: 'call'; key: string; call: GuestCall };

/** Replies: `ready` once after loading, then one per request. */
export type GuestReply = { type: 'ready' } | { type: 'prepared' } | { type: 'output'; output: Uint8Array } | { type: 'failed'; error: GuestFailure };

const modules = new Map<string, CompiledModule>();

self.onmessage = ({ data }: MessageEvent<GuestRequest>) => {
  try {
    self.postMessage(handleRequest(data));
  } catch (error) {
    const extension = data.type === 'call' ? data.call.extension : data.extension;
    const fault = error instanceof GuestError ? error : new GuestError('interrupted', `stopped: ${String(error)}`);
    self.postMessage({ type: 'failed', error: fault.toFailure(extension) } satisfies GuestReply);
  }
};

self.postMessage({ type: 'ready' } satisfies GuestReply);

function handleRequest(request: GuestRequest): GuestReply {
  if (request.type === 'prepare') {
    modules.set(request.key, compileModule(request.bytes, request.memoryBytes));
    return { type: 'prepared' };
  }
  const module = modules.get(request.key);
  if (!module) throw new GuestError('interrupted', 'was not prepared');
  return { type: 'output', output: callModule(module, request.call) };
}

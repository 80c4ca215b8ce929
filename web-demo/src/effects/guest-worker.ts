import { compile, GuestFault, talk, type Call, type Compiled, type GuestError } from './guest';

/** What the engine's worker asks of the guests' worker: to prepare a module, or to call a prepared one. */
export type Asked =
  | { type: 'prepare'; key: string; extension: string; memoryBytes: number; bytes: Uint8Array<ArrayBuffer> }
  | { type: 'call'; key: string; call: Call };

/** What it answers: once that it is there, and to each question what came of it. */
export type Answered = { type: 'here' } | { type: 'prepared' } | { type: 'said'; said: Uint8Array } | { type: 'failed'; error: GuestError };

const modules = new Map<string, Compiled>();

self.onmessage = ({ data }: MessageEvent<Asked>) => {
  try {
    self.postMessage(answer(data));
  } catch (error) {
    const extension = data.type === 'call' ? data.call.extension : data.extension;
    const fault = error instanceof GuestFault ? error : new GuestFault('interrupted', `stopped: ${String(error)}`);
    self.postMessage({ type: 'failed', error: fault.of(extension) } satisfies Answered);
  }
};

self.postMessage({ type: 'here' } satisfies Answered);

function answer(asked: Asked): Answered {
  if (asked.type === 'prepare') {
    modules.set(asked.key, compile(asked.bytes, asked.memoryBytes));
    return { type: 'prepared' };
  }
  const module = modules.get(asked.key);
  if (!module) throw new GuestFault('interrupted', 'was not prepared');
  return { type: 'said', said: talk(module, asked.call) };
}

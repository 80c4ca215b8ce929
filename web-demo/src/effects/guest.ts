/**
 * Calls an extension module like the server does: with the same checks, limits and messages, so that a turn is the same on both hosts.
 *
 * A module has no imports. It gets its messages one after the other and answers each with a record in its memory.
 */

/** A call: all messages for one fresh instance. */
export interface GuestCall {
  extension: string;
  messages: string[];
  memoryBytes: number;
}

/** The error of a call, in the engine's form. */
export interface GuestFailure {
  kind: string;
  message: string;
}

/** Why a module cannot be called or did not answer. The reason continues a sentence that starts with the extension's name. */
export class GuestError extends Error {
  constructor(
    readonly kind: string,
    readonly reason: string,
  ) {
    super(reason);
  }

  toFailure(extension: string): GuestFailure {
    return { kind: this.kind, message: `the extension '${extension}' ${this.reason}` };
  }
}

/** A compiled module, with its initial memory in bytes. */
export interface CompiledModule {
  module: WebAssembly.Module;
  memoryBytes: number;
}

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const MEMORY_SECTION = 5;
const PAGE = 65_536;
const MAX_REPLY_BYTES = 1 << 20;
const EXPORTS: [name: string, parameters: number][] = [
  ['conv_alloc', 1],
  ['conv_start', 2],
  ['conv_resume', 2],
];

/** Compiles a module and limits its memory to `memoryBytes`. */
export function compileModule(bytes: Uint8Array<ArrayBuffer>, memoryBytes: number): CompiledModule {
  if (MAGIC.some((it, index) => bytes[index] !== it)) {
    throw deniedError('is not a WebAssembly module: build it for wasm32-unknown-unknown');
  }
  const memory = limitMemory(bytes, Math.floor(memoryBytes / PAGE));
  const module = parseModule(memory.bytes);
  const [firstImport] = WebAssembly.Module.imports(module);
  if (firstImport) throw deniedError(`imports '${firstImport.module}.${firstImport.name}': build it without imports`);
  const isExported = (name: string, kind: string) =>
    WebAssembly.Module.exports(module).some((it) => it.name === name && it.kind === kind);
  if (!isExported('memory', 'memory')) throw deniedError("does not export its memory: export it as 'memory'");
  for (const [name] of EXPORTS) {
    if (!isExported(name, 'function')) {
      throw deniedError(`does not export '${name}': export all of conv_alloc, conv_start and conv_resume`);
    }
  }
  return { module, memoryBytes: memory.initialBytes };
}

/** Sends all messages of a call to a fresh instance; returns its last reply. */
export function callModule({ module, memoryBytes }: CompiledModule, call: GuestCall): Uint8Array<ArrayBuffer> {
  if (memoryBytes > call.memoryBytes) {
    throw new GuestError('limited', `begins with more memory than its ${call.memoryBytes} bytes: allow it more`);
  }
  const guest = new GuestInstance(module, call.memoryBytes);
  let record: number | undefined;
  for (const message of call.messages) record = guest.sendMessage(record === undefined, new TextEncoder().encode(message));
  if (record === undefined) throw invalidError('got no message');
  return guest.readReply(record);
}

class GuestInstance {
  private readonly memory: WebAssembly.Memory;
  private readonly functions: Map<string, (...numbers: number[]) => unknown>;

  constructor(
    module: WebAssembly.Module,
    private readonly maxMemoryBytes: number,
  ) {
    const { exports } = runGuarded(() => new WebAssembly.Instance(module), () => 0, maxMemoryBytes);
    this.memory = exports['memory'] as WebAssembly.Memory;
    this.functions = new Map(EXPORTS.map(([name]) => [name, exports[name] as (...numbers: number[]) => unknown]));
    for (const [name, parameters] of EXPORTS) {
      if (this.functions.get(name)?.length !== parameters) throw signatureError(name, parameters);
    }
  }

  /** Sends a message; returns the address of the reply record. */
  sendMessage(first: boolean, message: Uint8Array): number {
    const place = this.callFunction('conv_alloc', message.length);
    if (place + message.length > this.memory.buffer.byteLength) throw invalidError('gave a buffer outside of its memory');
    new Uint8Array(this.memory.buffer).set(message, place);
    return this.callFunction(first ? 'conv_start' : 'conv_resume', place, message.length);
  }

  /** Copies a reply out of the memory, whose buffer may have been replaced by growth. */
  readReply(record: number): Uint8Array<ArrayBuffer> {
    const { buffer } = this.memory;
    const outside = () => invalidError('returned a pointer outside its memory');
    if (record + 8 > buffer.byteLength) throw outside();
    const view = new DataView(buffer);
    const [start, length] = [view.getUint32(record, true), view.getUint32(record + 4, true)];
    if (start + length > buffer.byteLength) throw outside();
    if (length > MAX_REPLY_BYTES) throw new GuestError('limited', `answered with more than ${MAX_REPLY_BYTES} bytes`);
    return new Uint8Array(buffer.slice(start, start + length) as ArrayBuffer);
  }

  private callFunction(name: string, ...numbers: number[]): number {
    const result = runGuarded(() => this.functions.get(name)?.(...numbers), () => this.memory.buffer.byteLength, this.maxMemoryBytes);
    if (typeof result !== 'number') throw signatureError(name, numbers.length);
    return result >>> 0;
  }
}

/** Turns a trap into the error that the server reports for it. */
function runGuarded<T>(run: () => T, usedBytes: () => number, maxMemoryBytes: number): T {
  try {
    return run();
  } catch (error) {
    const trap = trapReason(error);
    // A module out of memory traps. Hosts cannot tell that trap from others, but both know how much memory was in use.
    if (usedBytes() > Math.floor(maxMemoryBytes / 2)) {
      const reason = `trapped (${trap}) with ${usedBytes()} of its ${maxMemoryBytes} bytes of memory in use: allow it more`;
      throw new GuestError('limited', reason);
    }
    throw invalidError(`trapped (${trap})`);
  }
}

/** Trap messages of the browsers, and the server's words for them. */
const TRAPS: [pattern: RegExp, words: string][] = [
  [/unreachable/, 'unreachable code'],
  [/call stack|recursion/, 'call stack exhausted'],
  [/table.*out of bounds|table index/, 'table access out of bounds'],
  [/memory access|index out of bounds|segment.*out of bounds|out of bounds memory/i, 'memory access out of bounds'],
  [/signature|indirect call|null function/, 'indirect call with another signature'],
  [/by zero/, 'integer division by zero'],
  [/divide result|integer overflow/, 'integer overflow'],
  [/float unrepresentable|conversion to integer/, 'conversion to integer'],
];

function trapReason(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return TRAPS.find(([pattern]) => pattern.test(message))?.[1] ?? 'unknown reason';
}

function parseModule(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch {
    throw invalidModuleError();
  }
}

/** Writes the limit into the module's memory section, because browsers offer no other way. */
function limitMemory(bytes: Uint8Array<ArrayBuffer>, pages: number): { bytes: Uint8Array<ArrayBuffer>; initialBytes: number } {
  const reader = new ByteReader(bytes, MAGIC.length);
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = reader.readByte();
    const end = reader.readLeb128() + reader.at;
    if (id !== MEMORY_SECTION) {
      reader.at = end;
      continue;
    }
    const [count, flags, minPages] = [reader.readLeb128(), reader.readByte(), reader.readLeb128()];
    // Multiple, shared and 64-bit memories are rejected by the server as well.
    if (count !== 1 || flags > 1) throw invalidModuleError();
    const maxPages = flags === 1 ? Math.min(reader.readLeb128(), pages) : pages;
    const initialBytes = minPages * PAGE;
    if (minPages > maxPages) return { bytes, initialBytes };
    const memory = [1, 1, ...encodeLeb128(minPages), ...encodeLeb128(maxPages)];
    const section = [MEMORY_SECTION, ...encodeLeb128(memory.length), ...memory];
    const limited = new Uint8Array(start + section.length + bytes.length - end);
    limited.set(bytes.subarray(0, start));
    limited.set(section, start);
    limited.set(bytes.subarray(end), start + section.length);
    return { bytes: limited, initialBytes };
  }
  return { bytes, initialBytes: 0 };
}

class ByteReader {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
  ) {}

  readByte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw invalidModuleError();
    return byte;
  }

  /** Reads an unsigned LEB128 number. */
  readLeb128(): number {
    let number = 0;
    for (let bits = 0; bits < 35; bits += 7) {
      const byte = this.readByte();
      number += (byte & 0x7f) * 2 ** bits;
      if (byte < 0x80) return number;
    }
    throw invalidModuleError();
  }
}

function encodeLeb128(number: number): number[] {
  return number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...encodeLeb128(number >>> 7)];
}

function deniedError(reason: string): GuestError {
  return new GuestError('denied', reason);
}

function invalidError(reason: string): GuestError {
  return new GuestError('invalid', reason);
}

function invalidModuleError(): GuestError {
  return deniedError('is not a valid WebAssembly module: build it again');
}

function signatureError(name: string, parameters: number): GuestError {
  return deniedError(`exports '${name}' with another signature: it must take ${parameters} and return one i32`);
}

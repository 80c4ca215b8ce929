/**
 * Calls a module as the server does: the same checks, limits and words, so that a turn is the same on both.
 *
 * A module has no imports. It gets its messages one after the other and answers each with a record in its memory.
 */

/** A call: all messages of one fresh instance. */
export interface Call {
  extension: string;
  messages: string[];
  memoryBytes: number;
}

/** A failure in the engine's form. */
export interface GuestError {
  kind: string;
  message: string;
}

/** Why a module cannot be called or did not answer; the reason follows the name of the extension. */
export class GuestFault extends Error {
  constructor(
    readonly kind: string,
    readonly reason: string,
  ) {
    super(reason);
  }

  of(extension: string): GuestError {
    return { kind: this.kind, message: `the extension '${extension}' ${this.reason}` };
  }
}

/** A compiled module, with the bytes of memory that it begins with. */
export interface Compiled {
  module: WebAssembly.Module;
  memoryBytes: number;
}

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const MEMORY_SECTION = 5;
const PAGE = 65_536;
const LONGEST = 1 << 20;
const FUNCTIONS: [name: string, parameters: number][] = [
  ['conv_alloc', 1],
  ['conv_start', 2],
  ['conv_resume', 2],
];

/** Compiles a module whose memory may not grow above so many bytes. */
export function compile(bytes: Uint8Array<ArrayBuffer>, memoryBytes: number): Compiled {
  if (MAGIC.some((it, index) => bytes[index] !== it)) {
    throw denied('is no WebAssembly module: build it for wasm32-unknown-unknown');
  }
  const memory = memoryOf(bytes, Math.floor(memoryBytes / PAGE));
  const module = compiled(memory.bytes);
  const [wanted] = WebAssembly.Module.imports(module);
  if (wanted) throw denied(`imports '${wanted.module}.${wanted.name}': build it without imports`);
  const exported = (name: string, kind: string) =>
    WebAssembly.Module.exports(module).some((it) => it.name === name && it.kind === kind);
  if (!exported('memory', 'memory')) throw denied("does not export its memory: export it as 'memory'");
  for (const [name] of FUNCTIONS) {
    if (!exported(name, 'function')) {
      throw denied(`does not export '${name}': export all of conv_alloc, conv_start and conv_resume`);
    }
  }
  return { module, memoryBytes: memory.begins };
}

/** Gives a fresh instance all messages of a call; returns what it said last. */
export function talk({ module, memoryBytes }: Compiled, call: Call): Uint8Array<ArrayBuffer> {
  if (memoryBytes > call.memoryBytes) {
    throw new GuestFault('limited', `begins with more memory than its ${call.memoryBytes} bytes: allow it more`);
  }
  const guest = new Guest(module, call.memoryBytes);
  let record: number | undefined;
  for (const message of call.messages) record = guest.tell(record === undefined, new TextEncoder().encode(message));
  if (record === undefined) throw invalid('got no message');
  return guest.read(record);
}

class Guest {
  private readonly memory: WebAssembly.Memory;
  private readonly functions: Map<string, (...numbers: number[]) => unknown>;

  constructor(
    module: WebAssembly.Module,
    private readonly allowed: number,
  ) {
    const { exports } = guarded(() => new WebAssembly.Instance(module), () => 0, allowed);
    this.memory = exports['memory'] as WebAssembly.Memory;
    this.functions = new Map(FUNCTIONS.map(([name]) => [name, exports[name] as (...numbers: number[]) => unknown]));
    for (const [name, parameters] of FUNCTIONS) {
      if (this.functions.get(name)?.length !== parameters) throw otherForm(name, parameters);
    }
  }

  /** Hands a message in; returns where the record of the answer is. */
  tell(first: boolean, message: Uint8Array): number {
    const place = this.call('conv_alloc', message.length);
    if (place + message.length > this.memory.buffer.byteLength) throw invalid('gave a buffer outside of its memory');
    new Uint8Array(this.memory.buffer).set(message, place);
    return this.call(first ? 'conv_start' : 'conv_resume', place, message.length);
  }

  /** Copies an answer out; the memory is looked at anew, because it may have grown. */
  read(record: number): Uint8Array<ArrayBuffer> {
    const { buffer } = this.memory;
    const outside = () => invalid('answered outside of its memory');
    if (record + 8 > buffer.byteLength) throw outside();
    const view = new DataView(buffer);
    const [start, length] = [view.getUint32(record, true), view.getUint32(record + 4, true)];
    if (start + length > buffer.byteLength) throw outside();
    if (length > LONGEST) throw new GuestFault('limited', `answered with more than ${LONGEST} bytes`);
    return new Uint8Array(buffer.slice(start, start + length) as ArrayBuffer);
  }

  private call(name: string, ...numbers: number[]): number {
    const result = guarded(() => this.functions.get(name)?.(...numbers), () => this.memory.buffer.byteLength, this.allowed);
    if (typeof result !== 'number') throw otherForm(name, numbers.length);
    return result >>> 0;
  }
}

/** Makes of a trap the words that the server has for it. */
function guarded<T>(run: () => T, used: () => number, allowed: number): T {
  try {
    return run();
  } catch (error) {
    const trap = words(error);
    // A module cannot say that it found no memory: it traps. No host can tell that trap from another one, but both know what it had.
    if (used() > Math.floor(allowed / 2)) {
      const reason = `trapped (${trap}) with ${used()} of its ${allowed} bytes of memory in use: allow it more`;
      throw new GuestFault('limited', reason);
    }
    throw invalid(`trapped (${trap})`);
  }
}

/** What browsers say of traps, each in its own words. */
const TRAPS: [pattern: RegExp, words: string][] = [
  [/unreachable/, 'unreachable code'],
  [/call stack|recursion/, 'call stack exhausted'],
  [/table.*out of bounds|table index/, 'table access out of bounds'],
  [/memory access|index out of bounds|segment.*out of bounds|out of bounds memory/i, 'memory access out of bounds'],
  [/signature|indirect call|null function/, 'indirect call of another form'],
  [/by zero/, 'integer division by zero'],
  [/divide result|integer overflow/, 'integer overflow'],
  [/float unrepresentable|conversion to integer/, 'conversion to integer'],
];

function words(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return TRAPS.find(([pattern]) => pattern.test(message))?.[1] ?? 'another reason';
}

function compiled(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  try {
    return new WebAssembly.Module(bytes);
  } catch {
    throw notValid();
  }
}

/** Writes the limit into the module's own memory, which no browser can limit otherwise. */
function memoryOf(bytes: Uint8Array<ArrayBuffer>, pages: number): { bytes: Uint8Array<ArrayBuffer>; begins: number } {
  const reader = new Reader(bytes, MAGIC.length);
  while (reader.at < bytes.length) {
    const start = reader.at;
    const id = reader.byte();
    const end = reader.number() + reader.at;
    if (id !== MEMORY_SECTION) {
      reader.at = end;
      continue;
    }
    const [count, flags, least] = [reader.number(), reader.byte(), reader.number()];
    // More than one memory, a shared one, or one of 64 bits: the server does not take them either.
    if (count !== 1 || flags > 1) throw notValid();
    const most = flags === 1 ? Math.min(reader.number(), pages) : pages;
    const begins = least * PAGE;
    if (least > most) return { bytes, begins };
    const memory = [1, 1, ...leb(least), ...leb(most)];
    const section = [MEMORY_SECTION, ...leb(memory.length), ...memory];
    const limited = new Uint8Array(start + section.length + bytes.length - end);
    limited.set(bytes.subarray(0, start));
    limited.set(section, start);
    limited.set(bytes.subarray(end), start + section.length);
    return { bytes: limited, begins };
  }
  return { bytes, begins: 0 };
}

class Reader {
  constructor(
    private readonly bytes: Uint8Array,
    public at: number,
  ) {}

  byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw notValid();
    return byte;
  }

  /** A number as modules have it: seven bits a byte, the lowest first. */
  number(): number {
    let number = 0;
    for (let bits = 0; bits < 35; bits += 7) {
      const byte = this.byte();
      number += (byte & 0x7f) * 2 ** bits;
      if (byte < 0x80) return number;
    }
    throw notValid();
  }
}

function leb(number: number): number[] {
  return number < 0x80 ? [number] : [(number & 0x7f) | 0x80, ...leb(number >>> 7)];
}

function denied(reason: string): GuestFault {
  return new GuestFault('denied', reason);
}

function invalid(reason: string): GuestFault {
  return new GuestFault('invalid', reason);
}

function notValid(): GuestFault {
  return denied('is no valid WebAssembly module: build it again');
}

function otherForm(name: string, parameters: number): GuestFault {
  return denied(`exports '${name}' in another form: it takes ${parameters} and returns one i32`);
}

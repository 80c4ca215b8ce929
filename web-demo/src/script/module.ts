/**
 * Calls the script interpreter like the server does, so that a script has the same outcome on both hosts.
 *
 * The module has no imports. It takes and returns JSON, and has a fresh instance for each call.
 */

/** The functions of the module. */
export type ScriptFunction = 'run' | 'check';

interface Exports {
  memory: WebAssembly.Memory;
  allocate(length: number): number;
  run(address: number, length: number): bigint;
  check(address: number, length: number): bigint;
  explain_trap(): bigint;
}

/** The output if the instance is unable to explain its trap, because its stack is exhausted. The server has the same text. */
const STACK_EXHAUSTED =
  '{"logs":[],"failure":{"code":"exception","message":"RecursionError: the script exhausted the stack","line":null}}';

/** Calls a function of the module with JSON, and returns the JSON that it answers. */
export function callModule(module: WebAssembly.Module, name: ScriptFunction, input: string): string {
  const exports = new WebAssembly.Instance(module).exports as unknown as Exports;
  const bytes = new TextEncoder().encode(input);
  const address = exports.allocate(bytes.length) >>> 0;
  new Uint8Array(exports.memory.buffer).set(bytes, address);
  try {
    return readText(exports.memory, exports[name](address, bytes.length));
  } catch (error) {
    // A check has no failures to return.
    if (name === 'check') throw error;
    return explainTrap(exports);
  }
}

function explainTrap(exports: Exports): string {
  try {
    return readText(exports.memory, exports.explain_trap());
  } catch {
    return STACK_EXHAUSTED;
  }
}

/** Reads a text, whose address is in the upper half of `place` and whose length is in the lower one. */
function readText(memory: WebAssembly.Memory, place: bigint): string {
  const bits = BigInt.asUintN(64, place);
  return new TextDecoder().decode(new Uint8Array(memory.buffer, Number(bits >> 32n), Number(bits & 0xffff_ffffn)));
}

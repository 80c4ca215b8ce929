// Prints the output of every case, one a line, as a JavaScript engine computes it.
import { readFileSync } from 'node:fs';

const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const STACK_EXHAUSTED =
  '{"logs":[],"failure":{"code":"exception","message":"RecursionError: the script exhausted the stack","line":null}}';

function run(input) {
  const { memory, allocate, run, explain_trap } = new WebAssembly.Instance(module).exports;
  const read = (place) => {
    const bits = BigInt.asUintN(64, place);
    return new TextDecoder().decode(new Uint8Array(memory.buffer, Number(bits >> 32n), Number(bits & 0xffffffffn)));
  };
  const bytes = new TextEncoder().encode(input);
  const address = allocate(bytes.length) >>> 0;
  new Uint8Array(memory.buffer).set(bytes, address);
  try {
    return read(run(address, bytes.length));
  } catch {
    try {
      return read(explain_trap());
    } catch {
      return STACK_EXHAUSTED;
    }
  }
}

for (const file of ['ordinary.json', 'hostile.json']) {
  for (const test of JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'))) {
    const { session = { _count: 1, _memory: { messages: [] } }, event = null, params = null } = test;
    const { now = '2026-05-04T03:02:01Z', seed = '7' } = test;
    console.log(run(JSON.stringify({ code: test.code.join('\n'), session, event, params, now, seed })));
  }
}

import { describe, expect, it } from 'vitest';
import { boundTasks, fileProblem, withModule } from '../src/pack-extension';

const BYTES = new Uint8Array([0, 0x61, 0x73, 0x6d]);
const WASM = 'AGFzbQ==';

describe('withModule', () => {
  const module = (text: string) => (JSON.parse(withModule(text, 'fee', BYTES)) as { extensions: object }).extensions;

  it('adds an extension that does not exist yet', () => {
    expect(module('{}')).toEqual({ fee: { wasm: WASM } });
    expect(module('{"name": "n"}')).toEqual({ fee: { wasm: WASM } });
    expect(module('{"extensions": {}}')).toEqual({ fee: { wasm: WASM } });
    expect(module('{"extensions": {"other": {"wasm": "AA=="}}}')).toEqual({ fee: { wasm: WASM }, other: { wasm: 'AA==' } });
  });

  it('keeps permissions and replaces the module', () => {
    expect(module('{"extensions": {"fee": {"requests": ["http"]}}}')).toEqual({ fee: { wasm: WASM, requests: ['http'] } });
    expect(module('{"extensions": {"fee": {"file": "fee.wasm", "requests": []}}}')).toEqual({ fee: { wasm: WASM, requests: [] } });
    expect(module('{"extensions": {"fee": {"requests": [], "wasm": "AA=="}}}')).toEqual({ fee: { requests: [], wasm: WASM } });
  });

  it('keeps the rest of the text unchanged', () => {
    expect(withModule('{ "rate": 1.0 ,"extensions":{"fee":{"file":"x"}} }', 'fee', BYTES)).toBe(
      `{ "rate": 1.0 ,"extensions":{"fee":{"wasm": "${WASM}"}} }`,
    );
  });
});

describe('boundTasks', () => {
  it('finds the tasks of an extension, in either form of the binding', () => {
    const row = (task: string, binding: unknown) => ({ task, binding });
    const ce_task = [row('a:b', { extension: 'fee' }), row('c:d', '{"extension": "fee"}'), row('e:f', '{"extension": "x"}'), row('g:h', '?')];
    expect(boundTasks(JSON.stringify({ tables: { ce_task } }), 'fee')).toEqual(['a:b', 'c:d']);
    expect(boundTasks('{}', 'fee')).toEqual([]);
  });
});

describe('fileProblem', () => {
  it('reports why a file is not an extension', () => {
    expect(fileProblem('notes.txt', 4)).toContain('drop a .wasm file');
    expect(fileProblem('fee.wasm', 5 << 20)).toContain('exceeds 4194304 bytes');
    expect(fileProblem('Fee.WASM', 4)).toBe('');
  });
});

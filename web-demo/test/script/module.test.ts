import binaryen from 'binaryen';
import { describe, expect, it } from 'vitest';
import { callModule } from '../../src/script/module';

function compile(text: string): WebAssembly.Module {
  return new WebAssembly.Module(binaryen.parseText(text).emitBinary() as Uint8Array<ArrayBuffer>);
}

/** A module that answers with its input. */
const ECHO = `(func (export "run") (param i32 i32) (result i64)
  (i64.or (i64.shl (i64.extend_i32_u (local.get 0)) (i64.const 32)) (i64.extend_i32_u (local.get 1))))`;

function module(functions: string): WebAssembly.Module {
  return compile(`(module (memory (export "memory") 1) (data (i32.const 64) "why")
    (func (export "allocate") (param i32) (result i32) (i32.const 16))
    ${functions})`);
}

describe('a call of the module', () => {
  it('passes text in and out', () => {
    expect(callModule(module(ECHO), 'run', '"Grüße 👋"')).toBe('"Grüße 👋"');
  });

  it('that traps is explained by the module', () => {
    const traps = module(`(func (export "run") (param i32 i32) (result i64) unreachable)
      (func (export "explain_trap") (result i64) (i64.const 274877906947))`);
    expect(callModule(traps, 'run', '{}')).toBe('why');
  });

  it('that traps without explanation has exhausted the stack', () => {
    const traps = module(`(func $run (export "run") (param i32 i32) (result i64) (call $run (local.get 0) (local.get 1)))
      (func (export "explain_trap") (result i64) unreachable)`);
    expect(JSON.parse(callModule(traps, 'run', '{}'))).toMatchObject({ failure: { code: 'exception' } });
  });
});

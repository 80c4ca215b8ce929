//! Modules that are not the interpreter.

use std::time::Duration;

use crate::{RunError, ScriptRuntime};

const TIMEOUT: Duration = Duration::from_secs(10);

fn compile(text: &str) -> ScriptRuntime {
    let wasm = wat::parse_str(text).expect("the text is a module");
    ScriptRuntime::compile(&wasm, None).expect("the module compiles")
}

fn failure(runtime: &ScriptRuntime) -> RunError {
    runtime.run("{}", TIMEOUT).expect_err("the module is not the interpreter")
}

#[test]
fn a_module_that_imports_is_refused() {
    let wasm = wat::parse_str(r#"(module (import "env" "clock" (func)))"#).expect("the text is a module");
    assert!(ScriptRuntime::compile(&wasm, None).is_err());
    assert!(ScriptRuntime::compile(b"no module", None).is_err());
}

#[test]
fn a_module_without_exports_is_broken() {
    assert!(matches!(failure(&compile("(module)")), RunError::Broken(_)));
}

#[test]
fn an_output_outside_of_the_memory_is_broken() {
    let runtime = compile(
        r#"(module (memory (export "memory") 1)
            (func (export "allocate") (param i32) (result i32) i32.const 0)
            (func (export "run") (param i32 i32) (result i64) i64.const -1))"#,
    );
    assert!(matches!(failure(&runtime), RunError::Broken(_)));
}

#[test]
fn a_trap_without_explanation_is_an_exhausted_stack() {
    let runtime = compile(
        r#"(module (memory (export "memory") 1)
            (func (export "allocate") (param i32) (result i32) i32.const 0)
            (func (export "run") (param i32 i32) (result i64) (call 1 (local.get 0) (local.get 1)))
            (func (export "explain_trap") (result i64) unreachable))"#,
    );
    let output = runtime.run("{}", TIMEOUT).expect("the failure of the script");
    assert!(output.contains("RecursionError"), "{output}");
}

#[test]
fn an_endless_module_ends_at_its_deadline_and_others_go_on() {
    let endless = compile(
        r#"(module (memory (export "memory") 1)
            (func (export "allocate") (param i32) (result i32) i32.const 0)
            (func (export "run") (param i32 i32) (result i64) (loop br 0) unreachable))"#,
    );
    std::thread::scope(|scope| {
        let long = scope.spawn(|| endless.run("{}", Duration::from_millis(300)));
        let timeout = Duration::from_millis(20);
        assert_eq!(endless.run("{}", timeout), Err(RunError::Timeout(timeout)));
        assert_eq!(long.join().expect("no panic"), Err(RunError::Timeout(Duration::from_millis(300))));
    });
}

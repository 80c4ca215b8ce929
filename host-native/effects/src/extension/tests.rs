//! Well-behaved and hostile guests: each has its expected answer, and none affects later calls.

use std::fs;
use std::path::Path;

use convengine_core::turn::Reply;
use serde_json::{Value, json};

use super::*;

fn guest(name: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guests").join(format!("{name}.wat"));
    wat::parse_str(fs::read_to_string(file).unwrap()).unwrap()
}

fn extensions(modules: &[(&str, Vec<u8>)]) -> Extensions {
    Extensions::from_modules(modules.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect())
}

fn request(module: &str, messages: Value) -> ExtensionRequest {
    ExtensionRequest {
        extension: "it".to_owned(),
        module: module.to_owned(),
        messages: serde_json::from_value(messages).unwrap(),
        memory_bytes: 4 << 20,
        timeout_ms: 100,
    }
}

fn run_guest(name: &str) -> EffectResult {
    run(&extensions(&[(name, guest(name))]), &request(name, json!([{"abi": 1}])))
}

fn expect_output(answer: EffectResult) -> Value {
    match answer {
        EffectResult::Ok(Reply::Extension(reply)) => reply.message,
        other => panic!("{other:?}"),
    }
}

fn expect_error(answer: EffectResult) -> (EffectErrorKind, String) {
    match answer {
        EffectResult::Error(error) => (error.kind, error.message),
        other @ EffectResult::Ok(_) => panic!("{other:?}"),
    }
}

#[test]
fn the_last_answer_counts_and_keeps_its_spelling() {
    assert_eq!(expect_output(run_guest("answers")).to_string(), r#"{"end":{"patch":{"a":1.0}}}"#);
    let echoes = extensions(&[("echoes", guest("echoes"))]);
    let output = expect_output(run(&echoes, &request("echoes", json!([{"abi": 1}, {"completions": [1.0]}]))));
    assert_eq!(output.to_string(), r#"{"completions":[1.0]}"#);
    assert_eq!(expect_output(run(&echoes, &request("echoes", json!([["é"]])))), json!(["é"]), "nothing remains of the previous instance");
    assert_eq!(expect_output(run_guest("content_with_less")), json!("064"), "growing fails as it does everywhere");
}

#[test]
fn every_hostile_guest_has_its_error() {
    use EffectErrorKind::{Denied, Invalid, Limited, Timeout};
    for (name, kind, reason) in [
        ("loops", Timeout, "took longer than 100 ms"),
        ("traps", Invalid, "trapped (unreachable code)"),
        ("divides", Invalid, "trapped (integer division by zero)"),
        ("recurses", Invalid, "trapped (call stack exhausted)"),
        ("reads_outside", Invalid, "trapped (memory access out of bounds)"),
        ("calls_wrongly", Invalid, "trapped (indirect call with another signature)"),
        ("imports", Denied, "imports 'env.now': build it without imports"),
        ("hogs", Limited, "trapped (unreachable code) with 4194304 of its 4194304 bytes of memory in use: allow it more"),
        ("begins_large", Limited, "begins with more memory than its 4194304 bytes: allow it more"),
        ("record_outside", Invalid, "returned a pointer outside its memory"),
        ("answer_outside", Invalid, "returned a pointer outside its memory"),
        ("buffer_outside", Invalid, "gave a buffer outside of its memory"),
        ("no_json", Invalid, "did not answer with JSON: check what it returns"),
        ("no_text", Invalid, "did not answer with JSON: check what it returns"),
        ("no_resume", Denied, "does not export 'conv_resume': export all of conv_alloc, conv_start and conv_resume"),
        ("no_memory", Denied, "does not export its memory: export it as 'memory'"),
        ("other_form", Denied, "exports 'conv_alloc' with another signature: it must take 1 and return one i32"),
        ("talks_much", Limited, "answered with more than 1048576 bytes"),
    ] {
        assert_eq!(expect_error(run_guest(name)), (kind, format!("the extension 'it' {reason}")), "{name}");
    }
}

#[test]
fn invalid_modules_are_denied_and_missing_ones_not_found() {
    let modules = [("text", b"hello".to_vec()), ("torn", guest("answers")[..40].to_vec()), ("component", b"\0asm\x0d\0\x01\0".to_vec())];
    for (name, reason) in
        [("text", "is not a WebAssembly module"), ("torn", "is not a valid WebAssembly module"), ("component", "is not a WebAssembly")]
    {
        let (kind, message) = expect_error(run(&extensions(&modules), &request(name, json!([{}]))));
        assert_eq!(kind, EffectErrorKind::Denied, "{name}");
        assert!(message.starts_with(&format!("the extension 'it' {reason}")), "{message}");
    }
    let (kind, message) = expect_error(run(&extensions(&modules), &request("ab12", json!([{}]))));
    assert_eq!((kind, message.as_str()), (EffectErrorKind::NotFound, "the extension 'it' has no module ab12: import it again"));
    assert_eq!(find_problem(&guest("answers")), None);
    assert_eq!(find_problem(&guest("imports")).as_deref(), Some("imports 'env.now': build it without imports"));
}

#[tokio::test]
async fn a_runaway_guest_does_not_block_others() {
    let both = extensions(&[("loops", guest("loops")), ("answers", guest("answers"))]);
    both.compile();
    let mut endless = request("loops", json!([{}]));
    endless.timeout_ms = 1500;
    let of_loop = tokio::spawn({
        let both = both.clone();
        async move { execute(&BlockingShare::default(), &both, &endless).await }
    });
    for _ in 0..20 {
        expect_output(execute(&BlockingShare::default(), &both, &request("answers", json!([{}]))).await);
    }
    assert!(!of_loop.is_finished());
    assert_eq!(expect_error(of_loop.await.unwrap()).0, EffectErrorKind::Timeout);
    expect_output(execute(&BlockingShare::default(), &both, &request("answers", json!([{}]))).await);
}

//! Runs the scripts of `python` nodes in the interpreter that the page also has. (docs/spec/flows.md#4.7)

mod interpreter;

use std::collections::BTreeMap;
use std::time::Duration;

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, MAX_SCRIPT_TIMEOUT_MS, ScriptRequest};
use convengine_script_runtime::{RunError, ScriptRuntime};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use convengine_host_base::blocking_share::BlockingShare;
use convengine_host_base::hex::to_hex;

/// The time limit of a script when neither its node nor a setting has one.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limit of a syntax check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Compiles the interpreter in the background, so that no turn waits for it.
pub fn prepare() {
    drop(tokio::spawn(interpreter::prepare()));
}

/// Runs a script on a blocking thread; `default` limits a script whose node has no time limit, and every other one too.
pub async fn execute(blocking: &BlockingShare, request: &ScriptRequest, default: Option<Duration>) -> EffectResult {
    let request = request.clone();
    // Waiting for a processor and for the interpreter does not count against the time limit of the script.
    let answer = blocking.run_script(move || run(&request, default)).await;
    answer.unwrap_or_else(|error| EffectResult::Error(EffectError::new(EffectErrorKind::Interrupted, error.to_string())))
}

/// Runs a script on this thread.
pub fn run(request: &ScriptRequest, default: Option<Duration>) -> EffectResult {
    run_in(interpreter::get(), request, default)
}

/// Runs a script in an interpreter, or says why there is none.
fn run_in(interpreter: Result<&ScriptRuntime, String>, request: &ScriptRequest, default: Option<Duration>) -> EffectResult {
    let interpreter = match interpreter {
        Ok(interpreter) => interpreter,
        Err(reason) => return unavailable(&reason),
    };
    match interpreter.run(&request.to_module_input(), time_limit(request, default)) {
        Ok(output) => ScriptRequest::parse_output(&output),
        Err(RunError::Timeout(limit)) => ScriptRequest::stopped("timeout", format!("the script took longer than {} ms", limit.as_millis())),
        Err(RunError::Broken(reason)) => unavailable(&reason),
    }
}

/// Returns what the interpreter reports of the scripts of a document, by the SHA-256 of their code; nothing without an interpreter.
pub fn check_document(document: &Value) -> BTreeMap<String, Vec<(u32, String)>> {
    let scripts: Vec<&str> = script_nodes(document).filter_map(|node| node.pointer("/data/code")?.as_str()).collect();
    if scripts.is_empty() {
        return BTreeMap::new();
    }
    let Ok(interpreter) = interpreter::get() else { return BTreeMap::new() };
    let check = |code: &str| {
        let output = interpreter.check(code, CHECK_TIMEOUT).inspect_err(|error| tracing::warn!("cannot check a script: {error}")).ok()?;
        let found: CheckOutput = serde_json::from_str(&output).ok()?;
        Some((to_hex(&Sha256::digest(code)), found.issues.into_iter().map(|issue| (issue.line, issue.message)).collect()))
    };
    scripts.into_iter().filter_map(check).collect()
}

/// Whether a document has scripts.
pub fn has_scripts(document: &Value) -> bool {
    script_nodes(document).next().is_some()
}

fn script_nodes(document: &Value) -> impl Iterator<Item = &Value> {
    let graphs = document.get("graphs").and_then(Value::as_array).into_iter().flatten();
    let nodes = graphs.filter_map(|graph| graph.get("nodes")?.as_array()).flatten();
    nodes.filter(|node| node.get("type").and_then(Value::as_str) == Some("python"))
}

fn time_limit(request: &ScriptRequest, default: Option<Duration>) -> Duration {
    let longest = default.unwrap_or(Duration::from_millis(MAX_SCRIPT_TIMEOUT_MS.into()));
    let own = request.timeout_ms.map(|timeout| Duration::from_millis(timeout.into()));
    own.unwrap_or(default.unwrap_or(DEFAULT_TIMEOUT)).min(longest)
}

fn unavailable(reason: &str) -> EffectResult {
    EffectResult::Error(EffectError::new(EffectErrorKind::Unsupported, format!("scripts cannot run here: {reason}")))
}

/// The output of a check.
#[derive(Deserialize)]
struct CheckOutput {
    issues: Vec<CheckIssue>,
}

#[derive(Deserialize)]
struct CheckIssue {
    line: u32,
    message: String,
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;

    fn request(timeout_ms: Option<u32>) -> ScriptRequest {
        let request = json!({"language": "python", "code_hash": "", "code": "", "input": {}, "timeout_ms": timeout_ms, "limits": {
            "fuel": 1, "memory_bytes": 1, "output_bytes": 1, "recursion": 1, "log_lines": 1, "log_chars": 1,
        }});
        serde_json::from_value(request).unwrap()
    }

    #[test]
    fn a_script_says_that_the_interpreter_is_missing_until_it_is_there() {
        let compiled = interpreter::Compiled::new();
        let run = |file: Option<&'static str>| {
            let found = interpreter::compile_once(&compiled, || file.map(|text| Cow::Borrowed(text.as_bytes())));
            match run_in(found, &request(None), None) {
                EffectResult::Error(error) if error.kind == EffectErrorKind::Unsupported => error.message,
                other => panic!("{other:?}"),
            }
        };
        let missing = "scripts cannot run here: the interpreter of scripts, 'python.wasm', is missing; ";
        assert!([run(None), run(None)].iter().all(|message| message.starts_with(missing)), "{}", run(None));
        // The file is there now, and is not WebAssembly; it is compiled once.
        let broken = run(Some("not a module"));
        assert!(broken.starts_with("scripts cannot run here: ") && !broken.starts_with(missing), "{broken}");
        assert_eq!(run(None), broken);
    }

    #[test]
    fn the_setting_is_default_and_maximum() {
        let limit = |timeout_ms, default: Option<u64>| time_limit(&request(timeout_ms), default.map(Duration::from_secs)).as_millis();
        assert_eq!((limit(None, None), limit(Some(5000), None), limit(Some(60_000), None)), (2000, 5000, 30_000));
        assert_eq!((limit(None, Some(3)), limit(Some(1000), Some(3)), limit(Some(5000), Some(3))), (3000, 1000, 3000));
    }
}

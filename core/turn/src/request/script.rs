//! The effect that runs a script in the host's interpreter. (docs/spec/flows.md#4.7)

use convengine_text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{EffectClass, EffectResult, Reply};
use crate::Map;
use crate::error::{EffectError, EffectErrorKind};

/// Instructions that a script may execute.
const FUEL: u64 = 50_000_000;

/// Bytes that a script may allocate.
const MEMORY_BYTES: u32 = 64 * 1024 * 1024;

/// Maximum bytes of a script's output.
const OUTPUT_BYTES: u32 = 64 * 1024;

/// Maximum depth of calls.
const RECURSION: u32 = 200;

/// Maximum log lines, and characters of each.
const LOG_LINES: u32 = 100;
const LOG_CHARS: u32 = 500;

/// The longest time limit of a script, in milliseconds.
pub const MAX_SCRIPT_TIMEOUT_MS: u32 = 30_000;

/// A run of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptRequest {
    /// `python`.
    pub language: String,
    /// SHA-256 of the code, in hexadecimal.
    pub code_hash: String,
    /// The code.
    pub code: String,
    /// What the script reads: `session`, `event`, `params`, `now` and `seed`.
    pub input: Map,
    /// Time limit in milliseconds; that of the host when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// The limits that do not depend on time.
    pub limits: ScriptLimits,
}

/// Limits of a run that do not depend on time, so that each host reaches them at the same point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptLimits {
    /// Instructions.
    pub fuel: u64,
    /// Allocated bytes.
    pub memory_bytes: u32,
    /// Bytes of the output.
    pub output_bytes: u32,
    /// Depth of calls.
    pub recursion: u32,
    /// Log lines.
    pub log_lines: u32,
    /// Characters of a log line.
    pub log_chars: u32,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        ScriptLimits {
            fuel: FUEL,
            memory_bytes: MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            recursion: RECURSION,
            log_lines: LOG_LINES,
            log_chars: LOG_CHARS,
        }
    }
}

/// What a script did. A failed script has changed nothing: [`failure`](ScriptReply::failure) is then the only member that counts beside
/// the logs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptReply {
    /// What it printed.
    #[serde(default)]
    pub logs: Vec<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ScriptFailure>,
    /// The variables that it has changed.
    #[serde(default)]
    pub changed: Map,
    /// The variables that it has removed.
    #[serde(default)]
    pub removed: Vec<String>,
    /// Its `result`.
    #[serde(default)]
    pub result: Value,
    /// Its `branch`.
    #[serde(default)]
    pub branch: Option<String>,
    /// Its `message`.
    #[serde(default)]
    pub message: Option<String>,
}

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    /// `timeout`, `fuel`, `memory`, `syntax`, `exception` or `output_invalid`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// The line of the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl ScriptRequest {
    /// The input of the interpreter module, as JSON.
    pub fn to_module_input(&self) -> String {
        let mut input = self.input.clone();
        input.insert("code".to_owned(), Value::String(self.code.clone()));
        input.insert("limits".to_owned(), serde_json::json!(self.limits));
        Value::Object(input).to_string()
    }

    /// Parses the output of the interpreter module as the answer to this request; shared by all hosts.
    ///
    /// ```
    /// use convengine_turn::{EffectResult, Reply, ScriptRequest};
    ///
    /// let output = r#"{"logs": ["two lines"], "changed": {"total": 12}, "branch": "cheap"}"#;
    /// let EffectResult::Ok(Reply::Script(reply)) = ScriptRequest::parse_output(output) else { panic!("invalid output") };
    /// assert_eq!((reply.changed["total"].as_i64(), reply.branch.as_deref()), (Some(12), Some("cheap")));
    /// assert!(reply.failure.is_none());
    /// ```
    pub fn parse_output(output: &str) -> EffectResult {
        match json::decode_text(output) {
            Ok(reply) => EffectResult::Ok(Reply::Script(Box::new(reply))),
            Err(_) => EffectResult::Error(EffectError::new(EffectErrorKind::Invalid, "the interpreter did not answer with JSON")),
        }
    }

    /// The answer to a script that the host has stopped; `code` is one of [`ScriptFailure::code`], such as `timeout`.
    pub fn stopped(code: &str, message: impl Into<String>) -> EffectResult {
        let failure = ScriptFailure { code: code.to_owned(), message: message.into(), line: None };
        EffectResult::Ok(Reply::Script(Box::new(ScriptReply { failure: Some(failure), ..ScriptReply::default() })))
    }
}

operation!(
    Script: ScriptRequest => Box<ScriptReply>,
    class: EffectClass::Pure,
    deadline_ms: |request| request.timeout_ms.unwrap_or(MAX_SCRIPT_TIMEOUT_MS).min(MAX_SCRIPT_TIMEOUT_MS)
);

//! The messages that a host exchanges with the module.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::source::Finding;

/// What a host passes to `run`.
#[derive(Debug, Deserialize)]
pub struct RunInput {
    /// The script.
    pub code: String,
    /// The variables of the conversation.
    #[serde(default)]
    pub session: Map<String, Value>,
    /// The event of the turn.
    #[serde(default)]
    pub event: Value,
    /// The parameters of the flow.
    #[serde(default)]
    pub params: Value,
    /// The time of the turn, RFC 3339.
    pub now: String,
    /// The seed of the turn's randomness, which JSON numbers cannot hold.
    #[serde(deserialize_with = "parse_seed")]
    pub seed: u64,
    /// What the script may use.
    #[serde(default)]
    pub limits: Limits,
}

/// What a script may use.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Calls and iterations of the interpreter.
    pub fuel: u64,
    /// Bytes of memory beyond those of the interpreter.
    pub memory_bytes: usize,
    /// Bytes of JSON that it may return.
    pub output_bytes: usize,
    /// Nested calls.
    pub recursion: usize,
    /// Lines of the log.
    pub log_lines: usize,
    /// Characters in a line of the log.
    pub log_chars: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { fuel: 50_000_000, memory_bytes: 64 << 20, output_bytes: 64 << 10, recursion: 200, log_lines: 100, log_chars: 500 }
    }
}

/// What `run` returns.
#[derive(Debug, Serialize)]
pub struct RunOutput {
    /// What the script printed.
    pub logs: Vec<String>,
    /// What the script did.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What a script did.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// It ended.
    Success(Changes),
    /// It failed, and so changed nothing.
    Failure {
        /// Why.
        failure: Failure,
    },
}

/// The effects of a script.
#[derive(Debug, Default, Serialize)]
pub struct Changes {
    /// Variables with new values.
    pub changed: Map<String, Value>,
    /// Removed variables.
    pub removed: Vec<String>,
    /// The value of `result`.
    pub result: Value,
    /// The value of `branch`.
    pub branch: Option<String>,
    /// The value of `message`.
    pub message: Option<String>,
}

/// Why a script failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The kind of failure.
    pub code: FailureCode,
    /// What happened.
    pub message: String,
    /// The line of the script, from 1.
    pub line: Option<u32>,
}

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCode {
    /// The script used up its fuel.
    Fuel,
    /// The script used up its memory.
    Memory,
    /// The script cannot be parsed, or uses what the interpreter lacks.
    Syntax,
    /// The script raised an exception.
    Exception,
    /// The script returned what is not JSON, or too much, or wrote a reserved name.
    OutputInvalid,
}

impl Failure {
    /// Creates a failure at a line.
    pub fn new(code: FailureCode, message: impl Into<String>, line: Option<u32>) -> Failure {
        Failure { code, message: message.into(), line }
    }

    /// Creates the failure of a script that used more fuel than its limit.
    pub fn out_of_fuel(limit: u64, line: Option<u32>) -> Failure {
        Failure::new(FailureCode::Fuel, format!("the script used more than {limit} units of fuel"), line)
    }

    /// Creates the failure of a script that used more memory than its limit.
    pub fn out_of_memory(limit: usize, line: Option<u32>) -> Failure {
        Failure::new(FailureCode::Memory, format!("the script used more than {limit} bytes of memory"), line)
    }

    /// Creates a failure from a finding in the source.
    pub fn from_finding(code: FailureCode, finding: Finding) -> Failure {
        Failure::new(code, finding.message, Some(finding.line))
    }
}

/// What a host passes to `check`.
#[derive(Debug, Deserialize)]
pub struct CheckInput {
    /// The script.
    pub code: String,
}

/// What `check` returns.
#[derive(Debug, Default, Serialize)]
pub struct CheckOutput {
    /// What is wrong with the script, in order of its lines.
    pub issues: Vec<Finding>,
}

fn parse_seed<'d, D: Deserializer<'d>>(deserializer: D) -> Result<u64, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

//! The record of each step of the turn, converted to JSON only when requested.

use convengine_turn::{Map, Millis};
use serde_json::{Value, json};

/// The record of an entered step.
#[derive(Debug, Clone)]
pub struct StepInfo {
    /// The step's name.
    pub name: &'static str,
    /// When it was entered.
    pub started: Millis,
    /// Intent and state, updated when the step exits.
    pub scope: (String, String),
    /// How it exited; absent while it runs.
    pub exit: Option<StepExit>,
}

/// How a step exited.
#[derive(Debug, Clone)]
pub struct StepExit {
    /// When.
    pub at: Millis,
    /// `Continue` or `Stop`, or the code and message of the fault.
    pub result: Result<&'static str, (&'static str, String)>,
}

impl StepInfo {
    /// The step's entry in `stepInfos`. (docs/spec/pipeline.md#1.11)
    pub fn to_json(&self) -> Value {
        let mut info = json!({
            "stepName": self.name,
            "stepClass": self.name,
            "determinant": "STEP_ENTER",
            "status": "IN_PROGRESS",
            "startedAtNs": self.started.saturating_mul(1_000_000),
            "metadata": {"intent": self.scope.0, "state": self.scope.1},
            "data": {},
        });
        if let (Some(left), Some(members)) = (&self.exit, info.as_object_mut()) {
            members.extend(left.to_members());
            members.insert("endedAtNs".to_owned(), json!(left.at.saturating_mul(1_000_000)));
            members.insert("durationMs".to_owned(), json!(left.at.saturating_sub(self.started)));
        }
        info
    }
}

impl StepExit {
    fn to_members(&self) -> Map {
        let members = match &self.result {
            Ok(outcome) => vec![
                ("determinant", json!("STEP_EXIT")),
                ("status", json!("SUCCESS")),
                ("outcome", json!(outcome)),
                ("data", json!({"resultType": outcome})),
            ],
            Err((code, message)) => vec![
                ("determinant", json!("STEP_ERROR")),
                ("status", json!("ERROR")),
                ("error", json!(message)),
                ("errorType", json!(code)),
                ("errorMessage", json!(message)),
                ("data", json!({"errorType": code, "errorMessage": message})),
            ],
        };
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

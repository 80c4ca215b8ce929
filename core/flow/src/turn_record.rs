//! What a turn produces: entered nodes, messages, effects, warnings and log rows.

use std::borrow::Cow;

use convengine_text::json::object;
use convengine_turn::{Millis, Write};
use serde_json::Value;

use super::spend_budget::SpendBudget;

/// What a turn has produced so far. Nested programs share it, so limits hold across them.
#[derive(Debug, Default)]
pub struct TurnRecord<'c> {
    /// Entered nodes.
    pub steps: Vec<StepRecord<'c>>,
    /// Published messages.
    pub messages: Vec<Value>,
    /// The `debug` object of the answer.
    pub debug: DebugInfo,
    /// Rows of the model call log.
    pub model_call_writes: Vec<Write>,
    /// The remaining spend budget for models.
    pub budget: SpendBudget,
    /// Why the turn stopped early; empty when it did not.
    pub stop_reason: &'static str,
    /// Whether a message exceeded the size limit; the turn fails then.
    pub is_oversized: bool,
    /// Redacted texts, each with the name of its variable.
    pub redacted_texts: Vec<(String, String)>,
}

/// A node entered in this turn.
#[derive(Debug, Clone)]
pub struct StepRecord<'c> {
    pub graph: String,
    pub id: Cow<'c, str>,
    pub name: Cow<'c, str>,
    pub kind: &'c str,
    pub port: Option<String>,
    pub entered_at: Millis,
    pub left_at: Option<Millis>,
}

/// The `debug` object of the answer, except for its steps.
#[derive(Debug, Clone, Default)]
pub struct DebugInfo {
    pub matched_intent: Value,
    pub effects: Vec<Value>,
    pub changed_variables: Vec<String>,
    pub warnings: Vec<&'static str>,
    /// Provider and model of the last agent reply.
    pub provider: Value,
    pub model: Value,
}

impl StepRecord<'_> {
    /// Converts the step to its form in the answer.
    pub fn into_json(self, now: Millis) -> Value {
        let ms = self.left_at.unwrap_or(now) - self.entered_at;
        object([
            ("id", self.id.into_owned().into()),
            ("name", self.name.into_owned().into()),
            ("type", self.kind.into()),
            ("graph", self.graph.into()),
            ("ms", ms.into()),
            ("port", self.port.into()),
        ])
    }
}

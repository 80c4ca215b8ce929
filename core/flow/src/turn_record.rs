//! What a turn produces: entered nodes, messages, effects, warnings and log rows.

use std::borrow::Cow;

use convengine_text::json::object;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{Millis, Write};
use serde_json::{Value, json};

use super::failure::{EFFECT_LIMIT, Failure};
use super::spend_budget::SpendBudget;

/// Maximum effects per turn.
pub(super) const MAX_EFFECTS: usize = 128;

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

impl TurnRecord<'_> {
    /// The number of effects left in the turn.
    pub fn effects_left(&self) -> usize {
        MAX_EFFECTS.saturating_sub(self.debug.effects.len())
    }

    /// Checks that the turn may request another effect.
    ///
    /// # Errors
    /// Returns the failure at the limit of the turn.
    pub fn check_effects_left(&self) -> Result<(), Failure> {
        match self.effects_left() {
            0 => Err(Failure::new(EFFECT_LIMIT, "the turn has requested too many effects")),
            _ => Ok(()),
        }
    }

    /// Records an effect with its outcome.
    pub fn record_effect(&mut self, kind: &str, purpose: Option<&str>, outcome: &str, attempt: u32) {
        let mut effect = json!({"kind": kind, "outcome": outcome, "attempt": attempt});
        if let (Some(purpose), Some(effect)) = (purpose, effect.as_object_mut()) {
            effect.insert("purpose".to_owned(), json!(purpose));
        }
        self.debug.effects.push(effect);
    }

    /// Records that a variable was written.
    pub fn mark_changed(&mut self, path: &VariablePath) {
        let name = path.to_string();
        if !self.debug.changed_variables.contains(&name) {
            self.debug.changed_variables.push(name);
        }
    }
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

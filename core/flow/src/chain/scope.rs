//! The names that templates and expressions of a chain can read. (docs/spec/chains.md#3)

use std::borrow::Cow;

use convengine_text::date::Date;
use convengine_text::names::NameResolver;
use convengine_text::variable_path::{VariablePath, get_at};
use convengine_turn::Millis;
use serde_json::{Value, json};

use super::state::{RunState, StepStatus};

/// The names of a run.
pub(super) struct RunScope<'r> {
    pub state: &'r RunState,
    /// The time zone of the run.
    pub time_zone: &'r str,
    pub now: Millis,
    /// The text that conditions search.
    pub text: &'r str,
}

impl RunScope<'_> {
    fn system_value(&self, name: &str) -> Option<Value> {
        Some(match name {
            "run_id" => json!(self.state.id),
            "chain" => json!(self.state.chain),
            "attempt" => json!(self.state.attempt),
            "now" => json!(Date::from_millis(self.now).to_rfc3339_millis()),
            "time_zone" => json!(self.time_zone),
            _ => return None,
        })
    }

    /// `steps.ID.output`, `.status`, `.error` or `.attempt` of the last attempt of a step.
    fn step_value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        let inside = path.rest()?;
        let attempt = self.state.last_attempt(inside.first_name())?;
        let member = inside.rest()?;
        match member.first_name() {
            "output" => match attempt.status {
                StepStatus::Succeeded => get_at(attempt.output.as_ref()?, path.parts().get(3..)?).map(Cow::Borrowed),
                // A step that has failed or was skipped has the output null.
                StepStatus::Failed | StepStatus::Skipped => path.parts().get(3..)?.is_empty().then_some(Cow::Owned(Value::Null)),
                StepStatus::Running | StepStatus::Waiting | StepStatus::Cancelled => None,
            },
            "error" => get_at(attempt.error.as_ref()?, path.parts().get(3..)?).map(Cow::Borrowed),
            "status" => serde_json::to_value(attempt.status).ok().and_then(|it| read_copy(&it, path, 3)),
            "attempt" => read_copy(&json!(attempt.attempt), path, 3),
            _ => None,
        }
    }
}

impl NameResolver for RunScope<'_> {
    fn value(&self, path: &VariablePath) -> Option<Cow<'_, Value>> {
        match path.first_name() {
            "trigger" => match path.rest() {
                Some(inside) => inside.find(&self.state.trigger).map(Cow::Borrowed),
                None => Some(Cow::Owned(Value::Object(self.state.trigger.clone()))),
            },
            "steps" => self.step_value(path),
            "system" => read_copy(&self.system_value(path.rest()?.first_name())?, path, 2),
            "event" if path.rest()?.first_name() == "text" => read_copy(&json!(self.text), path, 2),
            "context" | "session" => match path.rest() {
                Some(inside) => inside.find(&self.state.context).map(Cow::Borrowed),
                None => Some(Cow::Owned(Value::Object(self.state.context.clone()))),
            },
            _ => path.find(&self.state.context).map(Cow::Borrowed),
        }
    }

    fn user_message(&self) -> &str {
        self.text
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn locale(&self) -> &str {
        "en"
    }

    fn time_zone(&self) -> &str {
        self.time_zone
    }
}

/// What a path reads within a value that its first parts lead to.
fn read_copy(value: &Value, path: &VariablePath, parts: usize) -> Option<Cow<'static, Value>> {
    get_at(value, path.parts().get(parts..)?).cloned().map(Cow::Owned)
}

/// The text of an output: a string, an object's `text` or `decision`, else JSON; empty for null.
pub(super) fn output_text(output: &Value) -> String {
    let member = |name: &str| output.get(name).and_then(Value::as_str);
    match output {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            member("text").or_else(|| member("decision")).map_or_else(|| output.to_string(), str::to_owned)
        }
    }
}

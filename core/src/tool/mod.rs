//! Tools: how they are asked for, called and told about, for both steps that use them.

mod by_table;
mod request;

pub use by_table::{TableRequest, remember, wanted};
pub use request::ToolCall;

use serde_json::{Value, json};

use crate::audit::Stage;
use crate::config::Tool;
use crate::session::{Session, truthy};
use crate::turn::{EffectError, Map, ToolRequest};
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Whether tools are held back in this turn.
pub fn held_back(session: &Session) -> bool {
    session.stalled || ["skip_tool_execution", "guardrail_blocked"].iter().any(|it| truthy(session.params.get(*it)))
}

/// Calls a tool; its answer comes back as JSON text.
///
/// # Errors
/// What the host answered.
pub async fn call(t: &Turning<'_>, tool: Option<&Tool>, group: &str, args: &Map) -> Result<String, EffectError> {
    let request = ToolRequest { tool_code: tool.map(|it| it.code.clone()), tool_group: group.to_owned(), args: args.clone(), spec: None };
    t.door.perform(request).await.map(|it| as_json(&it.text))
}

/// An answer as JSON: what is none becomes `{"text": …}`, nothing becomes `{}`. (`spec/mcp-and-semantic.md` 1.4)
fn as_json(text: &str) -> String {
    match text.trim() {
        "" => "{}".to_owned(),
        json if serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok() => json.to_owned(),
        _ => json!({"text": text}).to_string(),
    }
}

/// Changes `context.mcp`, where rules and templates find what tools did; it is made when there is none, and removed when it is empty.
pub fn change(session: &mut Session, edit: impl FnOnce(&mut Map)) {
    let node = session.context.get_mut("mcp").map(Value::take);
    let mut node = if let Some(Value::Object(node)) = node { node } else { Map::new() };
    edit(&mut node);
    if node.is_empty() {
        session.context.shift_remove("mcp");
    } else {
        session.context.insert("mcp".to_owned(), Value::Object(node));
    }
}

/// Publishes and audits the same payload.
pub fn tell(t: &Turning<'_>, stage: Stage, progress: Progress<'_>, payload: Value) {
    publish(t, progress, || payload.as_object().cloned().unwrap_or_default());
    t.audit(stage, |_| payload);
}

#[cfg(test)]
mod tests {
    use super::as_json;

    #[test]
    fn every_answer_becomes_json() {
        let cases = [(" [1, 2] ", "[1, 2]"), ("\"a\"", "\"a\""), (" \n", "{}"), ("no {json}", r#"{"text":"no {json}"}"#)];
        for (text, expected) in cases {
            assert_eq!(as_json(text), expected);
        }
    }
}

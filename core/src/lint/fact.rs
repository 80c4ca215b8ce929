//! The session paths that rules and templates can read, as far as they are known statically. (docs/spec/data-and-api.md#6.4,
//! docs/spec/data-and-api.md#7.4)

use std::collections::BTreeSet;

use serde_json::Value;

use super::ground::Ground;
use crate::json::path::Known;

/// The members of the session view.
pub(super) const VIEW: [(&str, Known); 23] = [
    ("conversationId", Known::Text),
    ("intent", Known::Text),
    ("state", Known::Text),
    ("schemaComplete", Known::Boolean),
    ("hasContainerData", Known::Boolean),
    ("containerData", Known::Object),
    ("hasAnySchemaValue", Known::Boolean),
    ("hasAny", Known::Boolean),
    ("intentLocked", Known::Boolean),
    ("intentLockReason", Known::Text),
    ("missingRequiredFields", Known::List),
    ("missingFieldOptions", Known::Object),
    ("userText", Known::Text),
    ("standaloneQuery", Known::Text),
    ("resolvedUserInput", Known::Text),
    ("pendingClarificationQuestion", Known::Text),
    ("lastLlmStage", Known::Text),
    ("postIntentRule", Known::Boolean),
    ("ruleExecutionSource", Known::Text),
    ("ruleExecutionOrigin", Known::Text),
    ("context", Known::Object),
    ("schemaJson", Known::Object),
    ("lastLlmOutput", Known::Object),
];

/// Facts outside the session view.
const BESIDE: [(&str, Known); 3] = [("stepInfos", Known::Object), ("inputParams", Known::Object), ("payload", Known::Open)];

/// Context members that the engine writes.
const CONTEXT: [&str; 10] = [
    "container_data",
    "mcp",
    "memory",
    "approval",
    "pending_clarification",
    "intent_lock",
    "pending_action_runtime",
    "pending_slot",
    "pendingSlot",
    "guardrail_pending",
];

/// Parameters that the engine sets, often written without the `inputParams` prefix.
const PARAMS: [&str; 16] = [
    "correction_applied",
    "correction_target_field",
    "dialogue_act",
    "dialogue_act_confidence",
    "followups",
    "guardrail_blocked",
    "guardrail_result",
    "intent_scores",
    "intent_top3",
    "mcp_status",
    "pending_action_result",
    "pending_action_runtime_status",
    "policy_decision",
    "routing_decision",
    "tool_result",
    "tool_status",
];

/// The known paths of a configuration.
pub(super) struct Facts {
    /// Properties that extraction writes into the context.
    pub properties: BTreeSet<String>,
    /// Properties of the JSON schemas of responses.
    answers: BTreeSet<String>,
    /// Whether tasks can write any context member.
    open: bool,
}

impl Facts {
    /// Collects the properties of the schemas.
    pub fn of(context: &Ground<'_>) -> Facts {
        let properties =
            |table: &str| context.rows(table).iter().filter_map(|it| it.text("json_schema")).flat_map(|it| members(&it)).collect();
        Facts {
            properties: properties("ce_output_schema"),
            answers: properties("ce_response"),
            open: context.has_tasks || !context.rows("ce_pending_action").is_empty(),
        }
    }

    /// Returns what is known of the value at a path.
    pub fn known(&self, place: &[&str]) -> Known {
        match place {
            ["context", "agent", ..] if !self.properties.contains("agent") => Known::Missing,
            [first] => self.first(first),
            [first, ..] if matches!(self.first(first), Known::Boolean | Known::Text | Known::List) => Known::Missing,
            [] | [_, ..] => Known::Open,
        }
    }

    /// Suggests a path in place of an unknown one.
    pub fn instead(&self, path: &str) -> String {
        let first = path.split('.').next().unwrap_or_default();
        if path.starts_with("context.agent") {
            "write context.mcp".to_owned()
        } else if let Some(name) = alike(first, VIEW.iter().map(|it| it.0)) {
            format!("write {name}")
        } else if PARAMS.contains(&first) {
            format!("write $.inputParams.{first}")
        } else if self.answers.contains(first) {
            format!("write $.payload.{first} to read the answer of this turn")
        } else {
            format!("write $.inputParams.{first} for a parameter or $.payload.{first} for a member of the answer")
        }
    }

    fn first(&self, name: &str) -> Known {
        if let Some((_, known)) = VIEW.iter().chain(&BESIDE).find(|it| it.0 == name) {
            return *known;
        }
        let elsewhere = PARAMS.contains(&name) || self.answers.contains(name) || alike(name, VIEW.iter().map(|it| it.0)).is_some();
        if self.properties.contains(name) || CONTEXT.contains(&name) || (self.open && !elsewhere) { Known::Open } else { Known::Missing }
    }
}

/// Finds a name that differs only in case and underscores.
pub(super) fn alike<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let fold = |it: &str| it.chars().filter(|it| *it != '_').flat_map(char::to_lowercase).collect::<String>();
    let folded = fold(name);
    names.into_iter().find(|it| *it != name && fold(it) == folded)
}

/// Returns the property names of a JSON schema; for other definitions, such as XML, all words.
fn members(schema: &str) -> Vec<String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return words(schema) };
    let properties = schema.get("properties").or(Some(&schema)).and_then(Value::as_object);
    properties.map(|it| it.keys().cloned().collect()).unwrap_or_default()
}

/// Returns the words of a non-JSON definition, which include its field names.
fn words(text: &str) -> Vec<String> {
    text.split(|it: char| !(it.is_alphanumeric() || it == '_')).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{Conversations, Pack};
    use crate::session::Session;
    use crate::turn::ProgramRef;

    #[test]
    fn the_view_is_the_session_s() {
        let turn = r#"{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "hello"}}}"#;
        let pack = Pack::parse(&format!(r#"{{"name": "one", "turns": [{turn}]}}"#)).unwrap();
        let input = pack.message(0).unwrap().input(&Conversations::default(), ProgramRef::PipelineV2);
        let facts = Session::open(input, 20).facts();
        let mut listed: Vec<&str> = VIEW.iter().chain(&BESIDE).map(|it| it.0).filter(|it| *it != "payload").collect();
        let mut actual: Vec<&str> = facts.as_object().unwrap().keys().map(String::as_str).collect();
        listed.sort_unstable();
        actual.sort_unstable();
        assert_eq!(listed, actual);
    }
}

//! The session paths that rules and templates can read, as far as they are known statically. (docs/spec/data-and-api.md#6.4,
//! docs/spec/data-and-api.md#7.4)

use std::collections::BTreeSet;

use convengine_text::json::path::KnownType;
use serde_json::Value;

use super::context::LintContext;

/// The members of the session view.
pub(super) const VIEW_MEMBERS: [(&str, KnownType); 23] = [
    ("conversationId", KnownType::Text),
    ("intent", KnownType::Text),
    ("state", KnownType::Text),
    ("schemaComplete", KnownType::Boolean),
    ("hasContainerData", KnownType::Boolean),
    ("containerData", KnownType::Object),
    ("hasAnySchemaValue", KnownType::Boolean),
    ("hasAny", KnownType::Boolean),
    ("intentLocked", KnownType::Boolean),
    ("intentLockReason", KnownType::Text),
    ("missingRequiredFields", KnownType::List),
    ("missingFieldOptions", KnownType::Object),
    ("userText", KnownType::Text),
    ("standaloneQuery", KnownType::Text),
    ("resolvedUserInput", KnownType::Text),
    ("pendingClarificationQuestion", KnownType::Text),
    ("lastLlmStage", KnownType::Text),
    ("postIntentRule", KnownType::Boolean),
    ("ruleExecutionSource", KnownType::Text),
    ("ruleExecutionOrigin", KnownType::Text),
    ("context", KnownType::Object),
    ("schemaJson", KnownType::Object),
    ("lastLlmOutput", KnownType::Object),
];

/// Facts outside the session view.
const OTHER_FACTS: [(&str, KnownType); 3] =
    [("stepInfos", KnownType::Object), ("inputParams", KnownType::Object), ("payload", KnownType::Any)];

/// Context members that the engine writes.
const CONTEXT_MEMBERS: [&str; 11] = [
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
    "mcp_approval",
];

/// Parameters that the engine sets, often written without the `inputParams` prefix.
const ENGINE_PARAMS: [&str; 16] = [
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
pub(super) struct KnownPaths {
    /// Properties that extraction writes into the context.
    pub properties: BTreeSet<String>,
    /// Properties of the JSON schemas of responses.
    response_properties: BTreeSet<String>,
    /// Whether tasks can write any context member.
    has_open_context: bool,
}

impl KnownPaths {
    /// Collects the properties of the schemas.
    pub fn new(context: &LintContext<'_>) -> KnownPaths {
        let properties = |table: &str| {
            context.rows(table).iter().filter_map(|row| row.text("json_schema")).flat_map(|schema| property_names(&schema)).collect()
        };
        KnownPaths {
            properties: properties("ce_output_schema"),
            response_properties: properties("ce_response"),
            has_open_context: context.has_tasks || !context.rows("ce_pending_action").is_empty(),
        }
    }

    /// Returns what is known of the value at a path.
    pub fn known_type(&self, place: &[&str]) -> KnownType {
        match place {
            ["context", "agent", ..] if !self.properties.contains("agent") => KnownType::Missing,
            [first] => self.known_root_type(first),
            [first, ..] if matches!(self.known_root_type(first), KnownType::Boolean | KnownType::Text | KnownType::List) => {
                KnownType::Missing
            }
            [] | [_, ..] => KnownType::Any,
        }
    }

    /// Suggests a path in place of an unknown one.
    pub fn suggest(&self, path: &str) -> String {
        let first = path.split('.').next().unwrap_or_default();
        if path.starts_with("context.agent") {
            "write context.mcp".to_owned()
        } else if let Some(name) = find_similar(first, VIEW_MEMBERS.iter().map(|it| it.0)) {
            format!("write {name}")
        } else if ENGINE_PARAMS.contains(&first) {
            format!("write $.inputParams.{first}")
        } else if self.response_properties.contains(first) {
            format!("write $.payload.{first} to read the answer of this turn")
        } else {
            format!("write $.inputParams.{first} for a parameter or $.payload.{first} for a member of the answer")
        }
    }

    fn known_root_type(&self, name: &str) -> KnownType {
        if let Some((_, known)) = VIEW_MEMBERS.iter().chain(&OTHER_FACTS).find(|it| it.0 == name) {
            return *known;
        }
        let elsewhere = ENGINE_PARAMS.contains(&name)
            || self.response_properties.contains(name)
            || find_similar(name, VIEW_MEMBERS.iter().map(|it| it.0)).is_some();
        if self.properties.contains(name) || CONTEXT_MEMBERS.contains(&name) || (self.has_open_context && !elsewhere) {
            KnownType::Any
        } else {
            KnownType::Missing
        }
    }
}

/// Finds a name that differs only in case and underscores.
pub(super) fn find_similar<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let fold = |name: &str| name.chars().filter(|character| *character != '_').flat_map(char::to_lowercase).collect::<String>();
    let folded = fold(name);
    names.into_iter().find(|known| *known != name && fold(known) == folded)
}

/// Returns the property names of a JSON schema; for other definitions, such as XML, all words.
fn property_names(schema: &str) -> Vec<String> {
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return split_words(schema) };
    let properties = schema.get("properties").or(Some(&schema)).and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// Returns the words of a non-JSON definition, which include its field names.
fn split_words(text: &str) -> Vec<String> {
    text.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use convengine_pack::{Conversations, Pack};
    use convengine_tables::session::Session;
    use convengine_turn::ProgramRef;

    use super::*;

    #[test]
    fn the_view_matches_the_session() {
        let turn = r#"{"request": {"method": "POST", "path": "/api/v1/conversation/message", "body": {"message": "hello"}}}"#;
        let pack = Pack::parse(&format!(r#"{{"name": "one", "turns": [{turn}]}}"#)).unwrap();
        let input = pack.message(0).unwrap().into_input(&Conversations::default(), ProgramRef::PipelineV2);
        let facts = Session::from_input(input, 20).facts();
        let mut listed: Vec<&str> = VIEW_MEMBERS.iter().chain(&OTHER_FACTS).map(|it| it.0).filter(|it| *it != "payload").collect();
        let mut actual: Vec<&str> = facts.as_object().unwrap().keys().map(String::as_str).collect();
        listed.sort_unstable();
        actual.sort_unstable();
        assert_eq!(listed, actual);
    }
}

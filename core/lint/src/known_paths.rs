//! The session paths that rules and templates can read, as far as they are known statically. (docs/spec/data-and-api.md#6.4,
//! docs/spec/data-and-api.md#7.4)

use std::collections::BTreeSet;

use convengine_text::json::path::KnownType;
use serde_json::Value;

use super::context::LintContext;
use super::paths::split_words;
use super::written::Written;

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

/// Context members that the engine writes or reads.
const CONTEXT_MEMBERS: [&str; 14] = [
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
    "mcp_consent",
    "pending_action",
    "pendingAction",
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

/// Parameters that the engine sets or reads beside [`ENGINE_PARAMS`].
const OTHER_PARAMS: [&str; 64] = [
    "agentResolver",
    "approvalGranted",
    "approval_granted",
    "container_data",
    "context",
    "conversation_reset",
    "dialogue_act_guard_applied",
    "dialogue_act_guard_reason",
    "dialogue_act_llm_candidate",
    "dialogue_act_llm_confidence",
    "dialogue_act_llm_standalone_query",
    "dialogue_act_regex",
    "dialogue_act_regex_confidence",
    "dialogue_act_source",
    "force_intent_resolution",
    "guardrail_reason",
    "intent_collision_candidates",
    "mcp_action",
    "mcp_final_answer",
    "mcp_observations",
    "mcp_operation_tag",
    "mcp_tool_args",
    "mcp_tool_code",
    "mcp_tool_group",
    "memory_recall",
    "memory_session_summary",
    "missing_field_options",
    "missing_fields",
    "pendingAction",
    "pending_action",
    "pending_action_disambiguation_required",
    "pending_action_key",
    "pending_action_task",
    "pending_action_task_result",
    "post_intent_rule",
    "reset",
    "resolve_intent",
    "resolved_user_input",
    "restart",
    "rule_agent_post_intent",
    "rule_agent_post_mcp",
    "rule_execution_origin",
    "rule_execution_source",
    "rule_phase",
    "rule_tool_post_execution",
    "sanitized_user_text",
    "schema_description",
    "schema_field_details",
    "schema_id",
    "schema_json",
    "session",
    "skip_intent_resolution",
    "skip_pending_action_execution",
    "skip_schema_extraction",
    "skip_tool_execution",
    "standalone_query",
    "state_graph_reason",
    "state_graph_soft_block",
    "state_graph_valid",
    "switch_flow",
    "switch_intent",
    "switch_mode",
    "tool_request",
    "tool_requests_done",
];

/// Returns the names of the engine that a misspelled one may mean. A plain word, such as `context`, is too near to names of authors.
pub(super) fn engine_names() -> Vec<&'static str> {
    ENGINE_PARAMS.into_iter().chain(OTHER_PARAMS).chain(CONTEXT_MEMBERS).filter(|name| name.contains('_')).collect()
}

/// Whether the engine has a parameter, a context member or a fact of this name.
pub(super) fn is_engine_name(name: &str) -> bool {
    is_fact(name) || ENGINE_PARAMS.iter().chain(&OTHER_PARAMS).chain(&CONTEXT_MEMBERS).any(|it| *it == name)
}

/// Whether a path begins with a fact of the turn, as a condition of the type `JSON_PATH` reads it.
pub(super) fn is_fact(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    VIEW_MEMBERS.iter().chain(&OTHER_FACTS).any(|it| it.0 == first)
}

/// The known paths of a configuration.
pub(super) struct KnownPaths<'g> {
    /// Properties that extraction writes into the context.
    pub properties: BTreeSet<String>,
    /// Properties of the JSON schemas of responses.
    response_properties: BTreeSet<String>,
    /// What is written, and whether tasks can write other context members.
    written: &'g Written,
}

impl<'g> KnownPaths<'g> {
    /// Collects the properties of the schemas.
    pub fn new(context: &'g LintContext<'_>) -> KnownPaths<'g> {
        let properties = |table: &str| {
            context.rows(table).iter().filter_map(|row| row.text("json_schema")).flat_map(|schema| property_names(&schema)).collect()
        };
        KnownPaths { properties: properties("ce_output_schema"), response_properties: properties("ce_response"), written: &context.written }
    }

    /// Whether a member of the context is certainly never set.
    pub fn is_unset_member(&self, name: &str) -> bool {
        let is_known = self.written.context.member(name).is_some() || CONTEXT_MEMBERS.contains(&name) || name == "agent";
        !self.written.is_open && !is_known
    }

    /// Returns what is known of the value at a path.
    pub fn known_type(&self, place: &[&str]) -> KnownType {
        match place {
            ["context", "agent", ..] if !self.properties.contains("agent") => KnownType::Missing,
            ["context", name, ..] if self.is_unset_member(name) => KnownType::Missing,
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
        } else if path.starts_with("context.") {
            "correct the name, or set it first".to_owned()
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
        let is_member = self.properties.contains(name) || self.written.context.member(name).is_some() || CONTEXT_MEMBERS.contains(&name);
        if is_member || (self.written.is_open && !elsewhere) { KnownType::Any } else { KnownType::Missing }
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

#[cfg(test)]
mod tests {
    use convengine_pack::{Conversations, Pack};
    use convengine_tables::session::{RESERVED_KEYS, Session};
    use convengine_turn::ProgramRef;

    use super::*;

    #[test]
    fn the_parameters_of_the_engine_are_known() {
        let is_listed = |key: &str| match key.strip_suffix('*') {
            Some(prefix) => ENGINE_PARAMS.iter().chain(&OTHER_PARAMS).any(|it| it.starts_with(prefix)),
            None => is_engine_name(key),
        };
        let unknown: Vec<&str> = RESERVED_KEYS.into_iter().filter(|key| !is_listed(key)).collect();
        assert_eq!(unknown, [""; 0]);
    }

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

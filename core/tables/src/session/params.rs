//! `inputParams`: which keys a client may send, which are stored, and which live for one turn. (docs/decisions/0004-engine-parameters-last-one-turn.md)

use convengine_turn::Map;
use serde_json::Value;

use super::Session;

/// Engine keys that a client may not set; a trailing `*` matches any suffix.
pub const RESERVED_KEYS: [&str; 62] = [
    "standalone_query",
    "resolved_user_input",
    "dialogue_act",
    "dialogue_act_confidence",
    "dialogue_act_source",
    "dialogue_act_regex",
    "dialogue_act_regex_confidence",
    "dialogue_act_llm_candidate",
    "dialogue_act_llm_confidence",
    "dialogue_act_llm_standalone_query",
    "dialogue_act_guard_applied",
    "dialogue_act_guard_reason",
    "policy_decision",
    "skip_intent_resolution",
    "skip_schema_extraction",
    "skip_tool_execution",
    "skip_pending_action_execution",
    "routing_decision",
    "correction_applied",
    "correction_target_field",
    "pending_action",
    "pendingAction",
    "pending_action_task",
    "pending_action_runtime_status",
    "pending_action_result",
    "pending_action_task_result",
    "pending_action_disambiguation_required",
    "sanitized_user_text",
    "guardrail_*",
    "agentResolver",
    "intent_scores",
    "intent_top3",
    "intent_collision_candidates",
    "followups",
    "post_intent_rule",
    "rule_execution_source",
    "rule_execution_origin",
    "rule_phase",
    "rule_agent_post_intent",
    "rule_agent_post_mcp",
    "rule_tool_post_execution",
    "missing_fields",
    "missing_field_options",
    "schema_description",
    "schema_field_details",
    "schema_id",
    "schema_json",
    "context",
    "session",
    "tool_result",
    "tool_status",
    "tool_requests_done",
    "mcp_action",
    "mcp_tool_code",
    "mcp_tool_group",
    "mcp_tool_args",
    "mcp_observations",
    "mcp_final_answer",
    "mcp_status",
    "mcp_operation_tag",
    "state_graph_*",
    "memory_*",
];

/// Engine keys that are dropped at the start of the next turn, and the flags by which a client leaves an intent.
const PER_TURN_KEYS: [&str; 15] = [
    "tool_request",
    "skip_*",
    "guardrail_*",
    "approval_granted",
    "approvalGranted",
    "pending_action_*",
    "policy_decision",
    "routing_decision",
    "state_graph_*",
    "correction_*",
    "force_intent_resolution",
    "resolve_intent",
    "switch_intent",
    "switch_flow",
    "switch_mode",
];

/// Per-turn keys that persist when a rule or a task has set them.
const PENDING_ACTION_KEYS: [&str; 2] = ["pending_action_key", "pending_action_task"];

/// Keys that request a reset.
pub(super) const RESET_KEYS: [&str; 4] = ["reset", "restart", "conversation_reset", "_reset"];

/// Keys that are never stored, because they are copies of session state.
const NOT_STORED_KEYS: [&str; 6] =
    ["session", "context", "schema_json", "schema_field_details", "missing_field_options", "mcp_observations"];

impl Session {
    pub(super) fn load_params(&mut self, client_params: Map, reset: bool) {
        for (key, value) in client_params {
            let key = key.trim();
            if key.is_empty() {
                continue;
            }
            if matches_any(key, &RESERVED_KEYS) {
                self.ignored_params.push(key.to_owned());
            } else {
                self.client_params.insert(key.to_owned(), value);
            }
        }
        if reset {
            self.client_params.insert("reset".to_owned(), Value::Bool(true));
        }
        self.params = self.client_params.clone();
        for (key, value) in self.stored.params.iter() {
            let persists = PENDING_ACTION_KEYS.contains(&key.as_str());
            if matches_any(key, &PER_TURN_KEYS) && !persists {
                continue;
            }
            if persists {
                self.loaded_pending_params.push((key.clone(), value.clone()));
            }
            if !self.params.contains_key(key) {
                self.params.insert(key.clone(), value.clone());
            }
        }
        self.derive_params();
    }

    /// Sets a parameter.
    pub fn set_param(&mut self, key: &str, value: impl Into<Value>) {
        self.params.insert(key.to_owned(), value.into());
    }

    /// Sets a parameter on behalf of a rule or a task; a pending action set this way outlives the turn.
    pub fn set_param_by_rule(&mut self, key: &str, value: Value) {
        if !self.was_set_by_rule(key) {
            self.rule_params.push(key.to_owned());
        }
        self.set_param(key, value);
    }

    /// Whether a rule or a task set a parameter in this turn.
    pub fn was_set_by_rule(&self, key: &str) -> bool {
        self.rule_params.iter().any(|it| it == key)
    }

    /// Copies the schema facts and values, the context and the session into the parameters, for prompts.
    pub fn share_view(&mut self) {
        self.share_schema();
        self.set_param("schema_json", self.schema_json());
        self.set_param("context", self.context.clone());
        self.set_param("session", self.view());
    }

    /// Copies the schema facts into the parameters.
    pub fn share_schema(&mut self) {
        let schema = self.schema.as_ref();
        let shared = [
            ("missing_fields", Value::from(schema.map(|schema| schema.missing.clone()).unwrap_or_default())),
            ("missing_field_options", Value::from(schema.map(|schema| schema.options.clone()).unwrap_or_default())),
            ("schema_description", Value::from(schema.map(|schema| &*schema.description).unwrap_or_default())),
            ("schema_field_details", Value::from(schema.map(|schema| (*schema.details).clone()).unwrap_or_default())),
            ("schema_id", Value::from(schema.map(|schema| schema.id))),
        ];
        for (key, value) in shared {
            self.set_param(key, value);
        }
    }

    /// Whether a rule or a task has named a pending action that is not done yet.
    pub fn has_action_named_by_rule(&self) -> bool {
        let named =
            |key: &str| self.rule_params.iter().any(|name| name == key) || self.loaded_pending_params.iter().any(|(name, _)| name == key);
        PENDING_ACTION_KEYS.iter().any(|key| named(key) && self.params.contains_key(*key))
    }

    /// Ends a pending action after its task: removes the keys that named it, but keeps those by which the task named another one.
    pub fn finish_pending_action(&mut self, before: &Map) {
        let named_now = |key: &&str| self.params.get(*key).filter(|value| before.get(*key) != Some(value)).cloned();
        let next: Vec<(&str, Value)> = PENDING_ACTION_KEYS.iter().filter_map(|key| Some((*key, named_now(key)?))).collect();
        self.drop_pending_action();
        for (key, value) in next {
            self.set_param_by_rule(key, value);
        }
    }

    /// The parameters sent by the client with this message.
    pub fn client_params(&self) -> &Map {
        &self.client_params
    }

    /// Ends a pending action: removes the keys that named it.
    pub fn drop_pending_action(&mut self) {
        self.loaded_pending_params.clear();
        self.rule_params.retain(|name| !PENDING_ACTION_KEYS.contains(&name.as_str()));
        remove_action_keys(&mut self.params);
    }

    /// Sets the standalone query and its derived parameters.
    pub fn set_standalone_query(&mut self, query: Option<String>) {
        self.standalone_query = query.filter(|query| !query.trim().is_empty());
        self.derive_params();
    }

    /// Restores the client's parameters without those that requested the reset.
    pub(super) fn restore_client_params(&mut self) {
        self.params = self.client_params.clone();
        self.params.retain(|key, _| !RESET_KEYS.contains(&key.trim().to_lowercase().as_str()));
        self.loaded_pending_params.clear();
        self.derive_params();
    }

    /// The parameters that are stored and visible to rules and templates.
    pub fn safe_params(&self) -> Map {
        self.params
            .iter()
            .filter(|(key, _)| !NOT_STORED_KEYS.iter().any(|name| name.eq_ignore_ascii_case(key)))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    /// `input_params_json` after the turn: a pending action named only by the client is not stored, one named by a rule is.
    pub(super) fn stored_params(&self) -> Map {
        let mut params = self.safe_params();
        // Loaded from `ce_memory` every time.
        params.shift_remove("memory_recall");
        for key in PENDING_ACTION_KEYS.into_iter().filter(|key| !self.was_set_by_rule(key)) {
            params.shift_remove(key);
            if let Some((_, value)) = self.loaded_pending_params.iter().find(|it| it.0 == key) {
                params.insert(key.to_owned(), value.clone());
            }
        }
        params
    }

    fn derive_params(&mut self) {
        let resolved = self.resolved_input().map(str::to_owned);
        self.set_param("standalone_query", self.standalone_query.clone());
        self.set_param("resolved_user_input", resolved);
    }
}

/// Removes what names a pending action.
pub(super) fn remove_action_keys(params: &mut Map) {
    for key in PENDING_ACTION_KEYS {
        params.shift_remove(key);
    }
}

fn matches_any(key: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| pattern.strip_suffix('*').map_or(key == *pattern, |prefix| key.starts_with(prefix)))
}

/// Whether a parameter is set as a flag: true, the number 1, or one of `true`, `1`, `yes`, `on`.
pub fn is_flag_set(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64() == Some(1.0),
        Some(Value::String(text)) => matches!(text.trim().to_lowercase().as_str(), "true" | "1" | "yes" | "on"),
        None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => false,
    }
}

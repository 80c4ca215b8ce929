//! `inputParams`: what the client may send, what persists and what lives for one turn. (`decisions.md` 3, per-turn keys)

use serde_json::Value;

use super::Session;
use crate::turn::Map;

/// Engine keys that a client may not set; a `*` stands for any ending.
const RESERVED: [&str; 30] = [
    "standalone_query",
    "resolved_user_input",
    "dialogue_act*",
    "policy_decision",
    "skip_*",
    "routing_decision",
    "correction_*",
    "pending_action",
    "pendingAction",
    "pending_action_*",
    "sanitized_user_text",
    "guardrail_*",
    "agentResolver",
    "intent_scores",
    "intent_top3",
    "intent_collision_candidates",
    "followups",
    "post_intent_rule",
    "rule_execution_*",
    "rule_phase",
    "rule_agent_*",
    "rule_tool_*",
    "missing_field*",
    "schema_*",
    "context",
    "session",
    "tool_result",
    "tool_status",
    "mcp_*",
    "state_graph_*",
];

/// Reserved keys that a client may set all the same.
const ALLOWED: [&str; 4] = ["tool_request", "approval_granted", "pending_action_key", "reset"];

/// Engine keys that are dropped when the next turn loads them.
const PER_TURN: [&str; 10] = [
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
];

/// Per-turn keys that live on when a rule or a task has set them.
const UNTIL_DONE: [&str; 2] = ["pending_action_key", "pending_action_task"];

/// Keys that ask for a new start.
pub(super) const RESET_KEYS: [&str; 4] = ["reset", "restart", "conversation_reset", "_reset"];

/// Keys that are never stored, because they are copies of the session.
const NOT_STORED: [&str; 6] = ["session", "context", "schema_json", "schema_field_details", "missing_field_options", "mcp_observations"];

impl Session {
    pub(super) fn take_params(&mut self, sent: Map, reset: bool) {
        for (key, value) in sent {
            let key = key.trim();
            if key.is_empty() {
                continue;
            }
            if among(key, &RESERVED) && !ALLOWED.contains(&key) {
                self.ignored_params.push(key.to_owned());
            } else {
                self.sent.insert(key.to_owned(), value);
            }
        }
        if reset {
            self.sent.insert("reset".to_owned(), Value::Bool(true));
        }
        self.params = self.sent.clone();
        for (key, value) in self.stored.params.clone() {
            let lives = UNTIL_DONE.contains(&key.as_str());
            if self.params.contains_key(&key) || (among(&key, &PER_TURN) && !lives) {
                continue;
            }
            if lives {
                self.loaded_pending.push(key.clone());
            }
            self.params.insert(key, value);
        }
        self.derive_params();
    }

    /// Writes a parameter.
    pub fn set_param(&mut self, key: &str, value: impl Into<Value>) {
        self.params.insert(key.to_owned(), value.into());
    }

    /// Writes a parameter for a rule: a pending action that a rule names outlives the turn.
    pub fn set_param_by_rule(&mut self, key: &str, value: Value) {
        if UNTIL_DONE.contains(&key) {
            self.set_by_rule.push(key.to_owned());
        }
        self.set_param(key, value);
    }

    /// Replaces the standalone query and what is derived from it.
    pub fn set_standalone_query(&mut self, query: Option<String>) {
        self.standalone_query = query.filter(|it| !it.trim().is_empty());
        self.derive_params();
    }

    /// Puts the client's own parameters back, without those that asked for the new start.
    pub(super) fn restore_sent_params(&mut self) {
        self.params = self.sent.clone();
        self.params.retain(|key, _| !RESET_KEYS.contains(&key.trim().to_lowercase().as_str()));
        self.loaded_pending.clear();
        self.derive_params();
    }

    /// The parameters that are stored and that rules and templates see.
    pub fn safe_params(&self) -> Map {
        self.params.iter().filter(|it| !NOT_STORED.contains(&it.0.to_lowercase().as_str())).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    /// `input_params_json` after the turn: a pending action that only the client named is not kept.
    pub(super) fn stored_params(&self) -> Map {
        let mut params = self.safe_params();
        let stays = |key: &str| self.set_by_rule.iter().chain(&self.loaded_pending).any(|it| it == key);
        params.retain(|key, _| !UNTIL_DONE.contains(&key.as_str()) || stays(key));
        params
    }

    fn derive_params(&mut self) {
        let resolved = self.resolved_input().map(str::to_owned);
        self.set_param("standalone_query", self.standalone_query.clone());
        self.set_param("resolved_user_input", resolved);
    }
}

fn among(key: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| pattern.strip_suffix('*').map_or(key == *pattern, |prefix| key.starts_with(prefix)))
}

/// Whether a parameter means yes: true, the number 1, or one of `true`, `1`, `yes`, `on`.
pub fn truthy(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64() == Some(1.0),
        Some(Value::String(text)) => matches!(text.trim().to_lowercase().as_str(), "true" | "1" | "yes" | "on"),
        None | Some(Value::Null | Value::Array(_) | Value::Object(_)) => false,
    }
}

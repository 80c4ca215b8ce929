//! `context.pending_action_runtime`: the lifecycle of the pending action. (docs/spec/pipeline.md#2.10)
//!
//! An executed action stays closed: each execution is recorded under `executed` with its intent and state. The list is cleared when
//! the conversation moves to another intent or state, so that returning opens the action again. A key set by a rule or a task opens it
//! as well. (docs/decisions/0005-pending-actions.md)

use convengine_config::is_same_code;
use convengine_turn::{EffectContext, Map, Millis};
use serde_json::{Value, json};

use super::{ActionEvent, ActionStatus, ResolvedAction};
use crate::session::Session;

const CONTEXT_KEY: &str = "pending_action_runtime";

/// The context member, read and written as a whole.
#[derive(Debug, Clone, Default)]
pub struct ActionRuntime(Map);

impl ActionRuntime {
    /// Reads it from the context.
    pub fn from_session(session: &Session) -> ActionRuntime {
        ActionRuntime(session.context.get(CONTEXT_KEY).and_then(Value::as_object).cloned().unwrap_or_default())
    }

    /// Whether the context has the member; a conversation reset in this turn has none.
    pub fn exists(session: &Session) -> bool {
        session.context.contains_key(CONTEXT_KEY)
    }

    /// Writes it into the context.
    pub fn store(self, session: &mut Session) {
        let (key, value) = self.into_member();
        session.context.insert(key, value);
    }

    /// The member of the context.
    pub fn into_member(self) -> (String, Value) {
        (CONTEXT_KEY.to_owned(), Value::Object(self.0))
    }

    /// The status.
    pub fn status(&self) -> ActionStatus {
        ActionStatus::parse(self.text("status"))
    }

    /// Whether the user can still confirm or has confirmed.
    pub fn is_open(&self) -> bool {
        matches!(self.status(), ActionStatus::Open | ActionStatus::InProgress)
    }

    /// The key of the action; `None` when it has none.
    pub fn key(&self) -> Option<&str> {
        Some(self.text("action_key")).filter(|it| !it.is_empty())
    }

    /// The reference of the action.
    pub fn reference(&self) -> &str {
        self.text("action_ref")
    }

    /// Whether it is about the given action.
    pub fn matches_action(&self, action: &ResolvedAction) -> bool {
        self.key() == action.key.as_deref() && self.reference() == action.reference
    }

    /// Whether the confirmation limit has passed.
    pub fn is_expired(&self, turn: u32, now: Millis) -> bool {
        let reached = |key: &str, value: i64| self.0.get(key).and_then(Value::as_i64).is_some_and(|limit| limit >= 0 && value >= limit);
        reached("expires_turn", i64::from(turn)) || reached("expires_at_epoch_ms", now)
    }

    /// Whether the status was set in this turn.
    pub fn has_reached(&self, status: ActionStatus, turn: u32) -> bool {
        let member = format!("{}_turn", status.name().to_lowercase());
        self.status() == status && self.0.get(&member).and_then(Value::as_i64) == Some(i64::from(turn))
    }

    /// Whether the user has agreed to the action in this turn, whatever has become of it since, unless it failed.
    pub fn was_confirmed(&self, turn: u32) -> bool {
        let confirmed_in = self.0.get("in_progress_turn").and_then(Value::as_i64);
        matches!(self.status(), ActionStatus::InProgress | ActionStatus::Executed) && confirmed_in == Some(i64::from(turn))
    }

    /// Moves from a status by the table, and returns the new one; `None`, with nothing changed, when the event cannot happen then.
    pub fn advance(&mut self, from: ActionStatus, event: ActionEvent, effects: &EffectContext) -> Option<ActionStatus> {
        let status = effects.take_transition(from, event)?;
        self.0.insert("status".to_owned(), json!(status.name()));
        Some(status)
    }

    /// Begins with an action that is now open; a limit that is not positive means no limit.
    pub fn begin(&mut self, action: &ResolvedAction, turn: u32, now: Millis, ttl_turns: i64, ttl_minutes: i64) {
        let limit = |from: i64, length: i64| if length > 0 { from.saturating_add(length) } else { -1 };
        let executed = self.0.shift_remove("executed");
        let members = [
            ("action_key", json!(action.key.as_deref().unwrap_or_default())),
            ("action_ref", json!(action.reference)),
            ("status", json!(ActionStatus::Open.name())),
            ("created_turn", json!(turn)),
            ("created_at_epoch_ms", json!(now)),
            ("expires_turn", json!(limit(turn.into(), ttl_turns))),
            ("expires_at_epoch_ms", json!(limit(now, ttl_minutes.saturating_mul(60_000)))),
        ];
        self.0 = members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if let Some(executed) = executed {
            self.0.insert("executed".to_owned(), executed);
        }
    }

    /// Records turn and time of the status.
    pub fn stamp(&mut self, turn: u32, now: Millis) {
        let name = self.status().name().to_lowercase();
        self.0.insert(format!("{name}_turn"), json!(turn));
        self.0.insert(format!("{name}_at_epoch_ms"), json!(now));
    }

    /// Records why the action has failed.
    pub fn set_reason(&mut self, reason: &str) {
        self.0.insert("reason".to_owned(), json!(reason));
    }

    /// Removes turn and time of a decision.
    pub fn remove_decision(&mut self) {
        for member in ["in_progress_turn", "in_progress_at_epoch_ms", "rejected_turn", "rejected_at_epoch_ms"] {
            self.0.shift_remove(member);
        }
    }

    /// Records that an action was executed at an intent and state.
    pub fn record_execution(&mut self, action: &ResolvedAction, intent: &str, state: &str) {
        let entry = json!({
            "action_key": action.key.as_deref().unwrap_or_default(), "action_ref": action.reference, "intent": intent, "state": state,
        });
        match self.0.get_mut("executed").and_then(Value::as_array_mut) {
            Some(list) => list.push(entry),
            None => {
                self.0.insert("executed".to_owned(), json!([entry]));
            }
        }
    }

    /// Removes executions at other intents or states.
    pub fn remove_other_scopes(&mut self, intent: &str, state: &str) {
        let Some(list) = self.0.get_mut("executed").and_then(Value::as_array_mut) else { return };
        list.retain(|it| is_at(it, intent, state));
        if list.is_empty() {
            self.0.shift_remove("executed");
        }
    }

    /// Whether an action was executed at this intent and state and has to be reopened.
    pub fn is_closed(&self, key: Option<&str>, reference: &str, intent: &str, state: &str) -> bool {
        let same =
            |execution: &Value| member(execution, "action_key") == key.unwrap_or_default() && member(execution, "action_ref") == reference;
        self.executions().any(|execution| same(execution) && is_at(execution, intent, state))
    }

    /// Whether any action was executed at this intent and state.
    pub fn has_closed(&self, intent: &str, state: &str) -> bool {
        self.executions().any(|it| is_at(it, intent, state))
    }

    fn executions(&self) -> impl Iterator<Item = &Value> {
        self.0.get("executed").and_then(Value::as_array).into_iter().flatten()
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

fn member<'v>(entry: &'v Value, key: &str) -> &'v str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_at(entry: &Value, intent: &str, state: &str) -> bool {
    is_same_code(member(entry, "intent"), intent) && is_same_code(member(entry, "state"), state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action() -> ResolvedAction {
        ResolvedAction { key: None, reference: "card:issue".to_owned(), task: None }
    }

    #[test]
    fn either_limit_ends_the_offer() {
        let opened = |ttl_turns, ttl_minutes| {
            let mut runtime = ActionRuntime::default();
            runtime.begin(&action(), 4, 1_000, ttl_turns, ttl_minutes);
            runtime
        };
        let (by_turns, by_time, unlimited) = (opened(2, 0), opened(-1, 2), opened(0, 0));
        assert!(!by_turns.is_expired(5, 9_000_000) && by_turns.is_expired(6, 1_000));
        assert!(!by_time.is_expired(90, 120_999) && by_time.is_expired(4, 121_000));
        assert!(!unlimited.is_expired(9_000, 9_000_000_000));
    }

    #[test]
    fn an_executed_action_is_closed_where_it_was_executed() {
        let mut runtime = ActionRuntime::default();
        runtime.begin(&action(), 1, 0, 3, 30);
        runtime.record_execution(&action(), "CARD", "CONFIRM");
        assert!(runtime.is_closed(None, "card:issue", "card", "Confirm"));
        assert!(
            !runtime.is_closed(Some("K"), "card:issue", "CARD", "CONFIRM") && !runtime.is_closed(None, "card:block", "CARD", "CONFIRM")
        );
        runtime.remove_other_scopes("CARD", "CONFIRM");
        assert!(runtime.has_closed("CARD", "CONFIRM"));
        runtime.remove_other_scopes("CARD", "DONE");
        assert!(!runtime.has_closed("CARD", "CONFIRM"));
    }
}

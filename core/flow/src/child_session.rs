//! A session that another program runs as a part of its own: its turns are within those of the other.

use convengine_config::flow::Flow;
use convengine_text::date::Date;
use convengine_text::json::into_members;
use convengine_turn::{EffectContext, Map, Write};
use serde::Deserialize;
use serde_json::{Value, json};

use super::redaction::redact_session;
use super::session_start::new_session;
use super::state::{FlowEvent, FlowUsage, SessionState, SessionStatus};
use super::turn::Turn;
use super::walk::Walker;

/// What a child session has done in a turn of its parent.
pub struct ChildTurn {
    /// The state, to be stored with the parent's.
    pub state: Value,
    /// The messages, in order.
    pub messages: Vec<Value>,
    /// Whether the session has ended.
    pub is_done: bool,
    /// Whether the session has failed: no further turn is possible.
    pub is_failed: bool,
    /// Why the turn stopped early; empty when it did not.
    pub stop_reason: &'static str,
    /// Whether nobody knows the result of a call that changes something.
    pub is_uncertain: bool,
    /// Rows of the model call log.
    pub writes: Vec<Write>,
    /// The usage in this turn.
    pub usage: FlowUsage,
    /// The number of effects.
    pub effect_count: usize,
}

impl ChildTurn {
    /// The texts of the messages, a line each.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().filter_map(|it| it.get("text")?.as_str()).collect();
        texts.join("\n")
    }

    /// The variables of a session of `flow`, without reserved ones; values that it redacts are masked.
    pub fn variables(&self, flow: &Flow) -> Value {
        let mut state = json!({"vars": self.state.get("vars")});
        redact_session(flow, &mut state);
        let vars = into_members(into_members(state).shift_remove("vars").unwrap_or_default());
        Value::Object(vars.into_iter().filter(|it| !it.0.starts_with('_')).collect())
    }
}

/// Starts a session, and gives it a text unless it is blank. The messages are the replies to the text, if there is one. Without a time
/// zone, the session has that of its document.
pub async fn start_child_session(
    flow: &Flow,
    snapshot: &str,
    session: &str,
    time_zone: Option<String>,
    text: &str,
    effects: &EffectContext,
) -> ChildTurn {
    let start = FlowEvent::Start { params: Map::new(), locale: None, time_zone, channel: None, user: None, visitor: None, trigger: None };
    let at = Date::from_millis(effects.now()).to_rfc3339_millis();
    let state = new_session(flow, snapshot, session, &start, &at);
    let mut walker = Walker::for_child(flow, state, start, effects);
    walker.dispatch_event().await;
    if !text.trim().is_empty() && walker.turn.state.status == SessionStatus::Active && walker.turn.record.stop_reason.is_empty() {
        walker.turn.record.messages.clear();
        walker.begin_event(FlowEvent::Message { text: text.to_owned(), attachments: Vec::new(), event_id: None });
        walker.dispatch_event().await;
    }
    walker.into_child_turn(FlowUsage::default())
}

/// Gives an event to a stored session; `None` when the state or the event cannot be read.
pub async fn continue_child_session(flow: &Flow, state: &Value, event: Value, effects: &EffectContext) -> Option<ChildTurn> {
    let (state, event) = (SessionState::deserialize(state).ok()?, FlowEvent::parse(&event).ok()?);
    let before = state.usage;
    let mut walker = Walker::for_child(flow, state, event.clone(), effects);
    walker.begin_event(event);
    walker.dispatch_event().await;
    Some(walker.into_child_turn(before))
}

impl<'c> Walker<'c> {
    fn for_child(flow: &'c Flow, mut state: SessionState, event: FlowEvent, effects: &EffectContext) -> Walker<'c> {
        state.seq = state.seq.max(1);
        Walker::new(Turn::new(flow, state, event, effects.clone()))
    }

    /// Sets the next event of the session.
    fn begin_event(&mut self, event: FlowEvent) {
        let turn = &mut self.turn;
        turn.event = event;
        if turn.event.is_input() {
            turn.state.release_uncertain_calls();
        }
        turn.state.seq += 1;
        turn.event_number = turn.state.seq;
        turn.state.last_event_at = Date::from_millis(turn.effects.now()).to_rfc3339_millis();
        turn.is_event_consumed = false;
        turn.trigger = None;
        self.entered_fallbacks.clear();
    }

    fn into_child_turn(mut self, before: FlowUsage) -> ChildTurn {
        self.close_program();
        let Turn { state, record, .. } = self.turn;
        let mut usage = FlowUsage::default();
        usage.add_difference(before, state.usage);
        let is_failed = state.status == SessionStatus::Failed;
        ChildTurn {
            is_done: matches!(state.status, SessionStatus::Completed | SessionStatus::Abandoned),
            is_failed,
            stop_reason: if is_failed && record.stop_reason.is_empty() { "program_failed" } else { record.stop_reason },
            is_uncertain: !state.uncertain_calls.is_empty(),
            state: serde_json::to_value(&state).unwrap_or_else(|_| json!({})),
            effect_count: record.debug.effects.len(),
            messages: record.messages,
            writes: record.model_call_writes,
            usage,
        }
    }
}

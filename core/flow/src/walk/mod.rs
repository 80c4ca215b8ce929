//! The walk: decides what happens next, and does it until the turn ends (docs/spec/flows.md#4 to #8).
//!
//! What a node or a search for an intent says is applied here; only here does a program run another. Nothing below knows of it.

mod desk;
mod dispatch;
mod failures;
mod programs;
mod steps;
mod timers;

use std::sync::Arc;

use convengine_config::flow::Flow;
use convengine_config::flow::document::ProgramKind;
use convengine_text::date::Date;
use convengine_turn::{EffectContext, NoticeBody, TurnInput};
use serde_json::Value;

use self::programs::OuterProgram;
use super::session_start::{SCHEMA_VERSION, new_session, parse_session};
use super::spend_budget::SpendBudget;
use super::state::{FlowEvent, SessionStatus};
use super::transition::Transition;
use super::turn::Turn;

/// Runs the nodes of a session during one turn: [`Walker::open`], then [`run`], then [`Walker::into_outcome`], or
/// [`Walker::into_canceled_outcome`] where `run` was dropped.
pub struct Walker<'c> {
    /// The turn of the program in which the walker stands.
    pub(super) turn: Turn<'c>,
    /// The document of the session, which knows those that it runs.
    pub(super) root_flow: &'c Flow,
    /// The programs around this one, the outermost first.
    outer: Vec<OuterProgram<'c>>,
    /// How the node of an outer program goes on after this one, when not by its port `out`.
    nested_exit: Option<Transition>,
    /// Fallback nodes entered in this turn, as `graph/node`.
    pub(super) entered_fallbacks: Vec<String>,
    /// Whether the stored session could not be read; it is left unchanged then.
    pub(super) is_unreadable: bool,
    /// Whether the event is stale and changes nothing.
    is_late: bool,
    /// The stored session before the turn.
    pub(super) session_before: Option<Arc<Value>>,
}

/// Runs the event until the session waits for input or ends.
pub async fn run(walker: &mut Walker<'_>) {
    if walker.is_unreadable {
        walker.turn.state.status = SessionStatus::Failed;
        walker.abort_turn("state_unreadable");
        return;
    }
    walker.dispatch_event().await;
}

impl<'c> Walker<'c> {
    /// Creates the walker of a turn.
    pub(super) fn new(turn: Turn<'c>) -> Walker<'c> {
        Walker {
            root_flow: turn.flow,
            turn,
            outer: Vec::new(),
            nested_exit: None,
            entered_fallbacks: Vec::new(),
            is_unreadable: false,
            is_late: false,
            session_before: None,
        }
    }

    /// Loads the session of a turn, or creates it.
    ///
    /// A stored session that cannot be read, of another format or damaged, is not replaced: the turn fails with `state_unreadable` and
    /// stores nothing, so that a build that can read it continues.
    pub fn open(input: TurnInput, flow: &'c Flow, snapshot: &str, effects: EffectContext) -> Walker<'c> {
        let message_event =
            |text: Option<String>| FlowEvent::Message { text: text.unwrap_or_default(), attachments: Vec::new(), event_id: None };
        let envelope = input.event.flow.map(|it| *it).unwrap_or_default();
        let migrated = envelope.get("migrated").cloned();
        let event = FlowEvent::parse(&envelope).unwrap_or_else(|_| message_event(input.event.text));
        let at = Date::from_millis(input.at).to_rfc3339_millis();
        let session_before = input.session.flow;
        let stored = session_before.as_deref().and_then(parse_session).filter(|it| it.schema_version == SCHEMA_VERSION);
        let is_unreadable = session_before.is_some() && stored.is_none();
        let is_new = stored.is_none();
        let mut state = stored.unwrap_or_else(|| new_session(flow, snapshot, &input.conversation, &event, &at));
        // The first message to an AI agent starts its session.
        if let Some(channel) = envelope.get("channel").and_then(Value::as_str).filter(|_| is_new && flow.kind == ProgramKind::Agent) {
            channel.clone_into(&mut state.channel);
        }
        if let Some(identity) = envelope.get("identity") {
            state.adopt_identity(identity);
        }
        if event.is_input() {
            state.release_uncertain_calls();
        }
        state.seq += 1;
        state.last_event_at = at;
        if let Some(report) = &migrated {
            effects.publish(NoticeBody::Audit { stage: "session.migrated".into(), payload: report.clone().into() });
        }
        let mut turn = Turn::new(flow, state, event, effects);
        turn.version = envelope.get("version").and_then(Value::as_u64);
        turn.phrase_vectors = envelope.get("phrase_vectors").and_then(Value::as_str).map(str::to_owned);
        turn.record.budget = SpendBudget::from_event(&envelope, &flow.document.settings);
        turn.enter_phase("dispatch");
        if let Some(report) = &migrated {
            turn.explain_migration(report);
        }
        Walker { is_unreadable, session_before, ..Walker::new(turn) }
    }
}

//! The flow interpreter: runs one event of a session through its document until the turn ends (docs/spec/flows.md#4 to #8).
//!
//! It owns the stored session and what it answers. Parsing documents is done in `config::flow`.
//!
//! Hosts do not run it themselves: a turn of `convengine-core` does. They use what is about sessions between turns: whether an event is
//! valid ([`check_event`]), which document has the conversation ([`active_document`]), what may be shown of a session ([`redact_session`])
//! and how it gets to another version ([`migrate()`]).

mod button_input;
pub mod chain;
mod channel;
mod child_session;
mod corrections;
mod dispatch;
mod engine_text;
mod explanation;
mod failure;
mod filled_slots;
mod frames;
mod handoff;
mod handoff_distance;
mod lexical_match;
mod limit;
mod match_explanation;
mod matching;
mod messages;
mod migrate;
mod model_calls;
mod model_match;
mod nested;
mod node;
mod outcome;
mod redaction;
mod repair;
mod request_renderer;
mod scope;
mod slot_changes;
mod slot_explanation;
mod slot_hints;
mod slot_values;
mod spend_budget;
mod state;
mod template;
mod timers;
mod trace;
mod turn_record;
mod variables;
mod walk;

pub(crate) use child_session::{ChildTurn, continue_child_session, start_child_session};
pub(crate) use failure::Failure;
pub use handoff::HandoffState;
pub(crate) use messages::with_member;
pub use migrate::{Migration, MigrationKind, migrate};
pub use nested::{active_document, active_state, list_offered_options};
pub(crate) use node::{effect_failure_code, is_retryable, parse_body, read_output, status_failure_code};
pub use redaction::redact_session;
pub(crate) use request_renderer::{IDEMPOTENCY_HEADER, RequestRenderer};
pub(crate) use state::{FlowUsage, Timer};
pub(crate) use variables::coerce;

use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_config::flow::document::{ProgramKind, ValueType};
use convengine_config::flow::{Flow, GraphRef};
use convengine_text::date::Date;
use convengine_text::variable_path::VariablePath;
use convengine_turn::{CancelReason, EffectContext, Explanation, Map, NoticeBody, Outcome, TurnInput};
use convengine_understanding::entity::ParseCache;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::state::{Awaiting, Counters, FlowEvent, Frame, FrameKind, SessionState, SessionStatus};
use crate::turn_record::TurnRecord;

/// Version of the stored session format; sessions of any other version are rejected.
const SCHEMA_VERSION: &str = "1.0";

/// Runs the nodes of a session during one turn: [`Walker::open`], then [`run`], then [`Walker::into_outcome`], or
/// [`Walker::into_canceled_outcome`] where `run` was dropped.
pub struct Walker<'c> {
    /// The compiled document.
    flow: &'c Flow,
    /// The document of the session, which knows those that it runs.
    root_flow: &'c Flow,
    /// The programs around this one, the outermost first.
    outer: Vec<nested::OuterProgram<'c>>,
    /// The session state.
    state: SessionState,
    /// Requests effects and publishes notices.
    effects: EffectContext,
    /// The event of the turn.
    event: FlowEvent,
    /// The published version; `None` for the draft.
    version: Option<u64>,
    /// The model that has embedded the phrases of the intents, if the host compares messages with them.
    phrase_vectors: Option<String>,
    /// The number of this event in the session, from 1.
    event_number: u64,
    /// What the turn has produced so far. A nested program continues the record of the program that runs it.
    record: TurnRecord<'c>,
    /// The message that triggered the intent, while it is the event of this turn.
    trigger: Option<IntentTrigger>,
    /// Whether the graph is walked again after a correction, so that answered questions are not asked.
    is_rewalking: bool,
    /// How the node of an outer program goes on after this one, when not by its port `out`.
    nested_exit: Option<walk::Transition>,
    /// Whether a waiting node has consumed the event, so that no other node uses it (docs/spec/flows.md#6).
    is_event_consumed: bool,
    /// Fallback nodes entered in this turn, as `graph/node`.
    entered_fallbacks: Vec<String>,
    /// Whether the stored session could not be read; it is left unchanged then.
    is_unreadable: bool,
    /// Whether the event is stale and changes nothing.
    is_late: bool,
    /// The summary of the conversation, once a model has written it in this turn.
    summary: Option<String>,
    /// The stored session before the turn.
    session_before: Option<Arc<Value>>,
    /// The explanation of the slot or agent step that runs, if the turn is observed.
    open_explanation: Option<Box<Explanation>>,
    /// What the grammar of values has read in this turn.
    parses: ParseCache,
}

/// The message that triggered an intent.
#[derive(Debug, Clone)]
struct IntentTrigger {
    text: String,
    /// Number of frames below the frame of the intent.
    depth: usize,
    /// Slots that have already been prefilled from it, as `graph/node`.
    prefilled_slots: Vec<String>,
    /// The variables of these slots.
    entered_slots: Vec<String>,
    /// What it holds for the slots of the intent.
    values: slot_values::SlotValues,
}

/// Checks that a JSON object is a session event: its `type` is known, and its members are of the types of the event. Unknown members are
/// ignored.
///
/// A turn does not refuse an invalid event but takes it for a message with its `text`, so a host checks first.
///
/// ```
/// use convengine_flow::check_event;
/// use serde_json::json;
///
/// assert!(check_event(&json!({"type": "session.start", "params": {"plan": "gold"}, "locale": "de-DE"})).is_ok());
/// assert!(check_event(&json!({"type": "user.message"})).is_err(), "a message has a text");
/// assert!(check_event(&json!({"type": "user.leaves"})).is_err());
/// ```
///
/// # Errors
/// Returns the parse error as text when it is not.
pub fn check_event(event: &Value) -> Result<(), String> {
    FlowEvent::parse(event).map(|_| ()).map_err(|it| it.to_string())
}

/// Runs the event until the session waits for input or ends.
pub async fn run(walker: &mut Walker<'_>) {
    if walker.is_unreadable {
        walker.state.status = SessionStatus::Failed;
        walker.abort_turn("state_unreadable");
        return;
    }
    walker.dispatch_event().await;
}

impl<'c> Walker<'c> {
    /// Loads the session of a turn, or creates it.
    ///
    /// A stored session that cannot be read, of another format or damaged, is not replaced: the turn fails with `state_unreadable` and
    /// stores nothing, so that a build that can read it continues.
    pub fn open(input: TurnInput, flow: &'c Flow, snapshot: &str, effects: EffectContext) -> Walker<'c> {
        let message_event =
            |text: Option<String>| FlowEvent::Message { text: text.unwrap_or_default(), attachments: Vec::new(), event_id: None };
        let envelope = input.event.flow.map(|it| *it).unwrap_or_default();
        let version = envelope.get("version").and_then(Value::as_u64);
        let migrated = envelope.get("migrated").cloned();
        let phrase_vectors = envelope.get("phrase_vectors").and_then(Value::as_str).map(str::to_owned);
        let identity = envelope.get("identity").cloned();
        let budget = spend_budget::SpendBudget::from_event(&envelope, &flow.document.settings);
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
        identity.iter().for_each(|it| state.adopt_identity(it));
        state.seq += 1;
        state.last_event_at = at;
        let event_number = state.seq;
        if let Some(report) = &migrated {
            effects.publish(NoticeBody::Audit { stage: "session.migrated".into(), payload: report.clone().into() });
        }
        let walker = Walker {
            flow,
            root_flow: flow,
            outer: Vec::new(),
            state,
            effects,
            event,
            version,
            phrase_vectors,
            event_number,
            record: TurnRecord { budget, ..TurnRecord::default() },
            trigger: None,
            is_rewalking: false,
            nested_exit: None,
            is_event_consumed: false,
            entered_fallbacks: Vec::new(),
            is_unreadable,
            is_late: false,
            summary: None,
            session_before,
            open_explanation: None,
            parses: ParseCache::default(),
        };
        walker.enter_phase("dispatch");
        migrated.iter().for_each(|it| walker.explain_migration(it));
        walker
    }

    fn frame(&self) -> Option<&Frame> {
        self.state.stack.last()
    }

    fn settings(&self) -> &'c convengine_config::flow::document::FlowSettings {
        &self.flow.document.settings
    }

    fn await_input(&mut self, awaiting: Awaiting) {
        self.trace("await", json!({"kind": awaiting.kind, "node": awaiting.node}));
        self.state.awaiting = Some(awaiting);
    }

    /// Ends the turn.
    pub fn into_outcome(self) -> Outcome {
        outcome::build_outcome(self)
    }

    /// Ends a turn that the host canceled. What was done before counts: the session is stored as it stands then.
    pub fn into_canceled_outcome(mut self, reason: CancelReason) -> Outcome {
        let reason = match reason {
            CancelReason::Timeout => "turn_timeout",
            CancelReason::Lost => "turn_lost",
            CancelReason::Requested => "turn_cancelled",
        };
        if self.state.status == SessionStatus::HandedOff {
            self.cancel_relay(reason);
        } else {
            self.abort_turn(reason);
        }
        self.leave_all_programs();
        outcome::build_outcome(self)
    }
}

/// Parses a stored session; `None` when it is invalid.
fn parse_session(stored: &Value) -> Option<SessionState> {
    SessionState::deserialize(stored).ok()
}

/// The node at which a session starts: the trigger of the event, else the entry of the graph.
fn entry_of(graph: GraphRef<'_>, event: &FlowEvent) -> String {
    let trigger = if let FlowEvent::Start { trigger, .. } = event { trigger.as_ref() } else { None };
    let is_trigger = |it: &&String| graph.node(it).is_some_and(|it| it.type_name == "trigger");
    trigger.filter(is_trigger).unwrap_or(&graph.definition.entry).clone()
}

/// Creates a session with the document's defaults and the parameters of the event.
fn new_session(flow: &Flow, snapshot: &str, session: &str, event: &FlowEvent, at: &str) -> SessionState {
    let (params, locale, time_zone, channel, user, visitor) = match event {
        FlowEvent::Start { params, locale, time_zone, channel, user, visitor, .. } => {
            (params.clone(), locale.clone(), time_zone.as_deref(), channel.clone(), user.clone(), visitor.clone())
        }
        FlowEvent::Message { .. }
        | FlowEvent::Button { .. }
        | FlowEvent::Timer { .. }
        | FlowEvent::Approval { .. }
        | FlowEvent::HandoffStatus { .. }
        | FlowEvent::HandoffMessage { .. }
        | FlowEvent::End { .. } => (Map::new(), None, None, None, None, None),
    };
    let mut vars = Map::new();
    for variable in &flow.document.variables {
        if let Some(default) = &variable.default {
            // Cannot fail: a declared path has no list indexes.
            let _ = variable.name.set(&mut vars, default.clone());
        }
    }
    for (name, value) in params.into_iter().filter(|it| !it.0.starts_with('_')) {
        // A value of the wrong type is ignored and the default stays.
        let path = VariablePath::from_name(name.as_str());
        let declared = flow.document.variables.iter().find(|it| it.name == path).map_or(ValueType::Any, |it| it.kind);
        vars.extend(coerce(value, declared).ok().map(|it| (name, it)));
    }
    let root = flow.graph(&flow.document.root);
    let frame = root.map(|it| Frame {
        graph: it.definition.id.clone(),
        node: entry_of(it, event),
        kind: FrameKind::Root,
        intent_id: None,
        locals: None,
        return_map: BTreeMap::new(),
        return_to: None,
        resume: None,
        request: 0,
    });
    let channel = channel.unwrap_or_else(|| "web".to_owned());
    SessionState {
        schema_version: SCHEMA_VERSION.to_owned(),
        session_id: session.to_owned(),
        workspace_id: String::new(),
        program: flow.kind.name().to_owned(),
        snapshot: format!("sha256:{snapshot}"),
        time_zone: flow.document.time_zone_for(time_zone, &channel).to_owned(),
        channel,
        locale: locale.unwrap_or_else(|| flow.document.default_locale.clone()),
        user,
        visitor,
        status: SessionStatus::Active,
        turn: 0,
        seq: 0,
        vars,
        stack: frame.into_iter().collect(),
        awaiting: None,
        filled_slots: Vec::new(),
        pending_values: Vec::new(),
        counters: Counters::default(),
        usage: FlowUsage::default(),
        history: Vec::new(),
        handoff: None,
        timers: Vec::new(),
        rng: String::new(),
        created_at: at.to_owned(),
        last_event_at: String::new(),
    }
}

//! The flow interpreter: runs one event of a session through its document until the turn ends (docs/spec/flows.md#4 to #8).
//!
//! It owns the stored session and what it answers. Parsing documents is done in `config::flow`.

mod budget;
mod channel;
mod end;
mod fail;
mod frames;
mod limit;
mod mask;
mod matching;
mod migrate;
mod model;
mod node;
mod orchestrate;
mod press;
mod redact;
mod scope;
mod speak;
mod state;
mod struck;
mod template;
#[cfg(test)]
mod tests;
mod timers;
mod trace;
mod variables;
mod walk;

pub use mask::mask;
pub use migrate::{Migration, Passage, migrate};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::flow::Flow;
use crate::config::flow::document::ValueType;
use crate::flow::state::{Awaiting, Counters, FlowEvent, FlowUsage, Frame, FrameKind, SessionState, SessionStatus};
use crate::flow::variables::coerced;
use crate::text::date::Date;
use crate::text::path::Path;
use crate::turn::{Abandon, Door, Map, NoticeBody, Outcome, TurnInput, Write};

/// Version of the stored session format; sessions of any other version are rejected.
const SCHEMA_VERSION: &str = "1.0";

/// Runs the nodes of a session during one turn.
pub struct Walk<'c> {
    /// The compiled document.
    flow: &'c Flow,
    /// The session state.
    state: SessionState,
    /// Requests effects and publishes notices.
    door: Door,
    /// The event of the turn.
    event: FlowEvent,
    /// The published version; `None` for the draft.
    version: Option<u64>,
    /// The number of this event in the session, from 1.
    number: u64,
    /// Nodes entered so far.
    steps: Vec<trace::Step<'c>>,
    /// Messages published so far.
    said: Vec<Value>,
    /// The `debug` object of the answer.
    debug: trace::Debug,
    /// The message that triggered the intent, while it is the event of this turn.
    trigger: Option<Trigger>,
    /// Whether a waiting node has consumed the event, so that no other node uses it (docs/spec/flows.md#6).
    taken: bool,
    /// Fallback nodes entered in this turn, as `graph/node`.
    fallbacks: Vec<String>,
    /// Rows of the model call log.
    kept: Vec<Write>,
    /// The remaining spend budget for models.
    budget: budget::Budget,
    /// Why the turn stopped early; empty when it did not.
    stop: &'static str,
    /// Whether the stored session could not be read; it is left unchanged then.
    unreadable: bool,
    /// Whether the event is stale and changes nothing.
    late: bool,
    /// Whether a message exceeded the size limit; the turn fails then.
    oversized: bool,
    /// Texts redacted in this turn, each with the name of its variable.
    struck: Vec<(String, String)>,
    /// The stored session before the turn.
    before: Option<Box<Value>>,
}

/// The message that triggered an intent.
#[derive(Debug, Clone)]
struct Trigger {
    text: String,
    /// Number of frames below the frame of the intent.
    depth: usize,
    /// Slots that have already been prefilled from it, as `graph/node`.
    seen: Vec<String>,
}

/// Checks that a JSON object is a session event.
///
/// # Errors
/// Returns the parse error as text when it is not.
pub fn check(event: &Value) -> Result<(), String> {
    FlowEvent::deserialize(event).map(|_| ()).map_err(|it| it.to_string())
}

/// Runs the event until the session waits for input or ends.
pub async fn run(walker: &mut Walk<'_>) {
    if walker.unreadable {
        walker.state.status = SessionStatus::Failed;
        walker.gives_up("state_unreadable");
        return;
    }
    walker.orchestrate().await;
}

impl<'c> Walk<'c> {
    /// Loads the session of a turn, or creates it.
    pub fn open(input: TurnInput, flow: &'c Flow, snapshot: &str, effects: Door) -> Walk<'c> {
        let message_event = |text: Option<String>| FlowEvent::Message { text: text.unwrap_or_default(), attachments: Vec::new(), event_id: None };
        let envelope = input.event.flow.map(|it| *it).unwrap_or_default();
        let version = envelope.get("version").and_then(Value::as_u64);
        let migrated = envelope.get("migrated").cloned();
        let budget = budget::Budget::of(&envelope, &flow.document.settings);
        let event = FlowEvent::deserialize(&envelope).unwrap_or_else(|_| message_event(input.event.text));
        let at = Date::of_millis(input.at).exact();
        let before = input.session.flow;
        let stored = before.as_deref().and_then(session).filter(|it| it.schema_version == SCHEMA_VERSION);
        let unreadable = before.is_some() && stored.is_none();
        let mut state = stored.unwrap_or_else(|| begin(flow, snapshot, &input.conversation, &event, &at));
        state.seq += 1;
        state.last_event_at = at;
        let number = state.seq;
        if let Some(report) = migrated {
            effects.notice(NoticeBody::Audit { stage: "session.migrated".to_owned(), payload: report });
        }
        Walk {
            flow,
            state,
            door: effects,
            event,
            version,
            number,
            steps: Vec::new(),
            said: Vec::new(),
            debug: trace::Debug::default(),
            trigger: None,
            taken: false,
            fallbacks: Vec::new(),
            kept: Vec::new(),
            budget,
            stop: "",
            unreadable,
            late: false,
            oversized: false,
            struck: Vec::new(),
            before,
        }
    }

    fn frame(&self) -> Option<&Frame> {
        self.state.stack.last()
    }

    fn settings(&self) -> &'c crate::config::flow::document::FlowSettings {
        &self.flow.document.settings
    }

    fn wait(&mut self, awaiting: Awaiting) {
        self.trace("await", json!({"kind": awaiting.kind, "node": awaiting.node}));
        self.state.awaiting = Some(awaiting);
    }

    /// Ends the turn.
    pub fn outcome(self) -> Outcome {
        end::outcome(self)
    }

    /// Ends a turn that the host canceled.
    pub fn abandoned(mut self, reason: Abandon) -> Outcome {
        self.gives_up(match reason {
            Abandon::Timeout => "turn_timeout",
            Abandon::Lost => "turn_lost",
        });
        end::outcome(self)
    }
}

/// Parses a stored session; `None` when it is invalid.
fn session(stored: &Value) -> Option<SessionState> {
    SessionState::deserialize(stored).ok()
}

/// Creates a session with the document's defaults and the parameters of the event.
fn begin(flow: &Flow, snapshot: &str, session: &str, event: &FlowEvent, at: &str) -> SessionState {
    let (params, locale, channel, user) = match event {
        FlowEvent::Start { params, locale, channel, user } => (params.clone(), locale.clone(), channel.clone(), user.clone()),
        FlowEvent::Message { .. }
        | FlowEvent::Button { .. }
        | FlowEvent::Timer { .. }
        | FlowEvent::Approval { .. }
        | FlowEvent::End { .. } => (Map::new(), None, None, None),
    };
    let mut vars = Map::new();
    for variable in &flow.document.variables {
        if let Some(default) = &variable.default {
            // Cannot fail: a declared path has no list indexes.
            let _ = variable.name.put(&mut vars, default.clone());
        }
    }
    for (name, value) in params.into_iter().filter(|it| !it.0.starts_with('_')) {
        // A value of the wrong type is ignored and the default stays.
        let path = Path::name(name.as_str());
        let declared = flow.document.variables.iter().find(|it| it.name == path).map_or(ValueType::Any, |it| it.kind);
        vars.extend(coerced(value, declared).ok().map(|it| (name, it)));
    }
    let root = flow.graph(&flow.document.root);
    let frame = root.map(|it| Frame {
        graph: it.form.id.clone(),
        node: it.form.entry.clone(),
        kind: FrameKind::Root,
        intent_id: None,
        locals: None,
        return_map: std::collections::BTreeMap::new(),
        return_to: None,
        resume: None,
    });
    SessionState {
        schema_version: SCHEMA_VERSION.to_owned(),
        session_id: session.to_owned(),
        workspace_id: String::new(),
        program: "assistant".to_owned(),
        snapshot: format!("sha256:{snapshot}"),
        channel: channel.unwrap_or_else(|| "web".to_owned()),
        locale: locale.unwrap_or_else(|| flow.document.default_locale.clone()),
        user,
        status: SessionStatus::Active,
        turn: 0,
        seq: 0,
        vars,
        stack: frame.into_iter().collect(),
        awaiting: None,
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

//! The walker: one event of a session walks its document until somebody has to say something. (`convoship.md` 4–8)

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

/// The form of stored sessions; one of another version is not read.
const SCHEMA_VERSION: &str = "1.0";

/// A session in a turn. It never leaves the future of its turn.
pub struct Walk<'c> {
    /// The document.
    flow: &'c Flow,
    /// The session.
    state: SessionState,
    /// The way out.
    door: Door,
    /// What happens.
    event: FlowEvent,
    /// The published version; absent for the draft.
    version: Option<u64>,
    /// The number of the turn among all events of the session.
    number: u64,
    /// Nodes entered.
    steps: Vec<trace::Step<'c>>,
    /// Messages so far.
    said: Vec<Value>,
    /// What the debug part of the answer says.
    debug: trace::Debug,
    /// The message with which the intent began, as long as it is the turn's event, and the nodes that have looked for a value in it.
    trigger: Option<Trigger>,
    /// Whether a node that waited for the event has taken it: no other takes it for its own. (`convoship.md` 6)
    taken: bool,
    /// Fallback nodes of this turn, as `graph/node`.
    fallbacks: Vec<String>,
    /// Model calls for the log.
    kept: Vec<Write>,
    /// What models may still cost.
    budget: budget::Budget,
    /// Why the turn stopped.
    stop: &'static str,
    /// Whether the stored session could not be read; it stays as it is then.
    unreadable: bool,
    /// Whether the event has come too late to change anything.
    late: bool,
    /// Whether a message was too long to be said: the turn fails.
    oversized: bool,
    /// What was struck out in this turn, with the variables that took it.
    struck: Vec<(String, String)>,
    /// The session as it was before the turn.
    before: Option<Box<Value>>,
}

/// The message with which an intent began.
#[derive(Debug, Clone)]
struct Trigger {
    text: String,
    /// How many frames there were below the intent's.
    depth: usize,
    seen: Vec<String>,
}

/// Whether a JSON object is an event of a session.
///
/// # Errors
/// What is wrong with it.
pub fn check(event: &Value) -> Result<(), String> {
    FlowEvent::deserialize(event).map(|_| ()).map_err(|it| it.to_string())
}

/// Runs an event to where somebody has to say something.
pub async fn run(walk: &mut Walk<'_>) {
    if walk.unreadable {
        walk.state.status = SessionStatus::Failed;
        walk.gives_up("state_unreadable");
        return;
    }
    walk.orchestrate().await;
}

impl<'c> Walk<'c> {
    /// Opens the session of a turn.
    pub fn open(input: TurnInput, flow: &'c Flow, snapshot: &str, door: Door) -> Walk<'c> {
        let said = |text: Option<String>| FlowEvent::Message { text: text.unwrap_or_default(), attachments: Vec::new(), event_id: None };
        let given = input.event.flow.map(|it| *it).unwrap_or_default();
        let version = given.get("version").and_then(Value::as_u64);
        let migrated = given.get("migrated").cloned();
        let budget = budget::Budget::of(&given, &flow.document.settings);
        let event = FlowEvent::deserialize(&given).unwrap_or_else(|_| said(input.event.text));
        let at = Date::of_millis(input.at).exact();
        let before = input.session.flow;
        let stored = before.as_deref().and_then(session).filter(|it| it.schema_version == SCHEMA_VERSION);
        let unreadable = before.is_some() && stored.is_none();
        let mut state = stored.unwrap_or_else(|| begin(flow, snapshot, &input.conversation, &event, &at));
        state.seq += 1;
        state.last_event_at = at;
        let number = state.seq;
        if let Some(report) = migrated {
            door.notice(NoticeBody::Audit { stage: "session.migrated".to_owned(), payload: report });
        }
        Walk {
            flow,
            state,
            door,
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

    /// The end of the turn.
    pub fn outcome(self) -> Outcome {
        end::outcome(self)
    }

    /// The end of a turn that the host gave up.
    pub fn abandoned(mut self, why: Abandon) -> Outcome {
        self.gives_up(match why {
            Abandon::Timeout => "turn_timeout",
            Abandon::Lost => "turn_lost",
        });
        end::outcome(self)
    }
}

/// A stored session; nothing of one that cannot be read.
fn session(stored: &Value) -> Option<SessionState> {
    SessionState::deserialize(stored).ok()
}

/// A session that begins.
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
            // A declared path has no lists on its way that could be too short.
            let _ = variable.name.put(&mut vars, default.clone());
        }
    }
    for (name, value) in params.into_iter().filter(|it| !it.0.starts_with('_')) {
        // What a variable cannot take leaves its default.
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

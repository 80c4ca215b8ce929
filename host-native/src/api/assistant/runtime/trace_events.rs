//! Renders the turns of a session as trace events (docs/spec/flows.md#15.5).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::turn::{Journal, Map, Notice, NoticeBody, Slice, Turn, Write};
use convengine_host_base::clock;
use convengine_host_base::event_members::ARMED_SEQ;
use convengine_host_base::trace_ids::span_id;
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use convengine_storage::turn::{StoredTurn, decompress};
use convengine_turns::audit::derive::replay_turn;
use serde_json::{Value, json};

use super::inspect::TurnWithConfig;

/// Stages at which a node is entered.
const ENTRY_STAGES: [&str; 2] = ["node.enter", "workflow.node.enter"];

/// Stages with level `error`, besides `guard.…` and `….failed`.
const ERROR_STAGES: [&str; 3] = ["node.error", "gives_up", "state_too_large"];

/// Stages with level `warning`, besides the warnings of the response.
const WARNING_STAGES: [&str; 1] = ["budget.low"];

/// The turn number in the response; absent if the journal is unreadable.
pub fn turn_number(turn: &StoredTurn) -> Option<u64> {
    let input = decompress(&turn.journal).ok()?.input;
    let before = input.session.flow.as_ref().and_then(|state| state.get("turn")?.as_u64()).unwrap_or(0);
    let kind = input.event.flow.as_ref().and_then(|event| event.get("type")?.as_str());
    let is_of_user = kind.is_some_and(|it| ["user.message", "user.button"].contains(&it));
    Some(before + u64::from(is_of_user))
}

/// Renders a turn with the number of its response. A turn that cannot be replayed has a reason instead of events.
pub fn render_turn((turn, config): &TurnWithConfig, number: u64) -> Value {
    let event = decompress(&turn.journal).ok().as_ref().map(input_event).unwrap_or_default();
    match replay_turn(turn, config.as_ref()) {
        Ok(slice) => {
            let data = audits(&slice).map(|it| it.2).collect();
            let (event, data) = mask_private(config.as_deref(), event, data, &slice);
            let kind = ProgramKey::from_event(&event).map_or(DocumentKind::Assistant, |it| it.kind());
            let events = TraceRenderer { turn, number, program: kind.name(), warnings: warning_codes(&slice), entered: BTreeMap::new() };
            json!({"turn": number, "number": turn.number, "event": event, "events": events.render(&slice, data)})
        }
        Err(reason) => json!({"turn": number, "number": turn.number, "event": Value::Null, "events": [], "reason": reason}),
    }
}

fn input_event(journal: &Journal) -> Value {
    let mut event = journal.input.event.flow.as_deref().cloned().unwrap_or_default();
    if let Some(members) = event.as_object_mut() {
        ["budget_left", ARMED_SEQ].into_iter().for_each(|name| drop(members.shift_remove(name)));
    }
    event
}

/// Explains the decisions of a turn, with private values masked as in its trace; nothing for a turn that cannot be replayed.
pub fn explain_turn((turn, config): &TurnWithConfig) -> Vec<Value> {
    let journal = decompress(&turn.journal).ok();
    let Some((journal, config)) = journal.zip(config.as_ref()) else { return Vec::new() };
    let event = input_event(&journal);
    let Ok((replayed, slice)) = Turn::restore_observed(journal, Arc::clone(config)) else { return Vec::new() };
    let explanations = replayed.explanations().iter().map(|explanation| Cow::Owned(json!(explanation))).collect();
    mask_private(Some(config), event, explanations, &slice).1
}

/// Masks private values of the session in the input event and in data of the turn.
fn mask_private(config: Option<&Config>, event: Value, data: Vec<Cow<'_, Value>>, slice: &Slice) -> (Value, Vec<Value>) {
    let writes = slice.end.as_ref().map(|it| it.writes.as_slice()).unwrap_or_default();
    let state = writes.iter().find_map(|write| if let Write::Session { state } = write { Some(state.as_ref()) } else { None });
    let of_state = |key: &str| state.and_then(|it| it.get(key)).cloned().unwrap_or_default();
    let mut frames = of_state("stack").as_array().cloned().unwrap_or_default();
    frames.push(json!({"locals": event.get("params")}));
    let mut whole = json!({"vars": of_state("vars"), "stack": frames, "event": mask_remembered(event, state), "data": data});
    if let Some(flow) = config.and_then(|it| it.flow()) {
        convengine_core::flow::redact_session(flow, &mut whole);
    }
    let data = if let Value::Array(data) = whole["data"].take() { data } else { Vec::new() };
    (whole["event"].take(), data)
}

/// Replaces the user's text by the variable name that the session history has in its place, if any.
fn mask_remembered(mut event: Value, state: Option<&Value>) -> Value {
    let remembered = state.and_then(|state| {
        let history = state.get("history")?.as_array()?;
        let entry =
            history.iter().rev().find(|entry| entry.get("role") == Some(&json!("user")) && entry.get("turn") == state.get("turn"))?;
        entry.get("text")?.as_str()
    });
    let (Some(members), Some(remembered)) = (event.as_object_mut(), remembered) else { return event };
    // The history contains only the beginning of a long text.
    let to_text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
    let is_unchanged =
        ["text", "label", "value"].iter().filter_map(|it| members.get(*it)).any(|value| to_text(value).starts_with(remembered));
    if !is_unchanged {
        for name in ["text", "label", "value"] {
            members.entry(name).and_modify(|it| *it = json!(remembered));
        }
    }
    event
}

fn audits(slice: &Slice) -> impl Iterator<Item = (&Notice, &str, Cow<'_, Value>)> {
    slice.notices.iter().filter_map(|notice| match &notice.body {
        NoticeBody::Audit { stage, payload } => Some((notice, &**stage, payload.to_value())),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    })
}

/// The warning codes of the response.
fn warning_codes(slice: &Slice) -> Vec<String> {
    let answer = slice.end.as_ref().and_then(|it| it.flow.as_ref());
    let warnings = answer.and_then(|answer| answer.pointer("/debug/warnings")?.as_array());
    warnings.into_iter().flatten().filter_map(|warning| warning.as_str().map(str::to_owned)).collect()
}

/// Renders the trace events of a turn.
struct TraceRenderer<'t> {
    turn: &'t StoredTurn,
    number: u64,
    /// The kind of the document of the session.
    program: &'static str,
    warnings: Vec<String>,
    /// Spans of entered nodes by node path.
    entered: BTreeMap<String, String>,
}

impl TraceRenderer<'_> {
    fn render(mut self, slice: &Slice, data: Vec<Value>) -> Vec<Value> {
        audits(slice).zip(data).map(|((notice, kind, payload), data)| self.render_event(notice, kind, node_path(&payload), data)).collect()
    }

    /// Renders an event; `at` is a document location and contains no user text.
    fn render_event(&mut self, notice: &Notice, kind: &str, at: Option<String>, data: Value) -> Value {
        // Deterministic: a replay or another server derives the same span.
        let span = span_id(&format!("{}/{}/{}", self.turn.conversation_id, self.turn.number, notice.seq)).to_string();
        let enters = ENTRY_STAGES.contains(&kind);
        let parent = at.as_ref().filter(|_| !enters).and_then(|it| self.entered.get(it)).cloned();
        if let Some(at) = at.clone().filter(|_| enters) {
            self.entered.insert(at, span.clone());
        }
        Value::Object(Map::from_iter([
            ("turn".to_owned(), json!(self.number)),
            ("seq".to_owned(), json!(notice.seq)),
            ("span".to_owned(), json!(span)),
            ("parent".to_owned(), json!(parent)),
            ("kind".to_owned(), json!(kind)),
            ("program".to_owned(), json!(self.program)),
            ("at".to_owned(), json!(at)),
            ("time".to_owned(), json!(clock::format_iso(notice.at))),
            ("level".to_owned(), json!(self.level(kind))),
            ("data".to_owned(), data),
        ]))
    }

    fn level(&self, kind: &str) -> &'static str {
        if ERROR_STAGES.contains(&kind) || kind.starts_with("guard.") || kind.ends_with(".failed") {
            return "error";
        }
        let is_warning = WARNING_STAGES.contains(&kind) || self.warnings.iter().any(|it| it == kind);
        if is_warning { "warning" } else { "info" }
    }
}

/// The node of an event as `graph/node`.
pub fn node_path(data: &Value) -> Option<String> {
    let text = |key: &str| data.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let node = text("node")?;
    Some(text("graph").map_or_else(|| node.to_owned(), |graph| format!("{graph}/{node}")))
}

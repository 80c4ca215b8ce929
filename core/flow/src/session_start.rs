//! Starts a session, or reads a stored one.

use std::collections::BTreeMap;

use convengine_config::flow::document::ValueType;
use convengine_config::flow::{Flow, GraphRef};
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde::Deserialize;
use serde_json::Value;

use super::state::{Counters, FlowEvent, FlowUsage, Frame, FrameKind, SessionState, SessionStatus};
use super::variables::coerce;

/// Version of the stored session format; sessions of any other version are rejected.
pub(super) const SCHEMA_VERSION: &str = "1.0";

/// Parses a stored session; `None` when it is invalid.
pub(super) fn parse_session(stored: &Value) -> Option<SessionState> {
    SessionState::deserialize(stored).ok()
}

/// Creates a session with the document's defaults and the parameters of the event.
pub(super) fn new_session(flow: &Flow, snapshot: &str, session: &str, event: &FlowEvent, at: &str) -> SessionState {
    let (params, locale, time_zone, channel, user, visitor) =
        if let FlowEvent::Start { params, locale, time_zone, channel, user, visitor, .. } = event {
            (params.clone(), locale.clone(), time_zone.as_deref(), channel.clone(), user.clone(), visitor.clone())
        } else {
            (Map::new(), None, None, None, None, None)
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
        let kind = flow.document.variables.iter().find(|it| it.name == path).map_or(ValueType::Any, |it| it.kind);
        vars.extend(coerce(value, kind).ok().map(|it| (name, it)));
    }
    let root = flow.graph(&flow.document.root);
    let frame = root.map(|graph| Frame {
        graph: graph.definition.id.clone(),
        node: start_node_of(graph, event),
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
        afternoon: None,
        uncertain_calls: Vec::new(),
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

/// The node at which a session starts: the trigger of the event, else the entry of the graph.
fn start_node_of(graph: GraphRef<'_>, event: &FlowEvent) -> String {
    let trigger = if let FlowEvent::Start { trigger, .. } = event { trigger.as_ref() } else { None };
    let is_trigger = |id: &&String| graph.node(id).is_some_and(|it| it.type_name == "trigger");
    trigger.filter(is_trigger).unwrap_or(&graph.definition.entry).clone()
}

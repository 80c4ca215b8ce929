//! Traces a turn for observers, and records effects, warnings and ports.

use std::borrow::Cow;

use convengine_config::flow::document::ProgramKind;
use convengine_text::json::{into_members, object};
use convengine_turn::NoticeBody;
use serde_json::Value;

use super::redaction::mask_trace;
use super::turn::Turn;
use super::turn_record::StepRecord;

impl<'c> Turn<'c> {
    /// Publishes a trace event with the current graph and node.
    pub(super) fn trace(&self, kind: &str, mut data: Value) {
        if let Some(policy) = &self.flow.document.agent {
            data = mask_trace(policy, data);
        }
        if let (Some(frame), Some(data)) = (self.state.frame(), data.as_object_mut()) {
            for (name, place) in [("graph", &frame.graph), ("node", &frame.node)] {
                if !data.contains_key(name) {
                    data.insert(name.to_owned(), Value::String(place.clone()));
                }
            }
        }
        self.effects.publish(NoticeBody::Audit { stage: kind.to_owned().into(), payload: data.into() });
    }

    /// Records the entry of a node or of a parameter, unless the turn has entered too many. Returns whether it has not.
    pub(super) fn record_step(&mut self, graph: String, id: Cow<'c, str>, name: Cow<'c, str>, kind: &'c str) -> bool {
        let limit = usize::try_from(self.settings().max_steps_per_turn).unwrap_or(64).min(64);
        if self.record.steps.len() >= limit {
            return false;
        }
        let members = [("graph", graph.as_str()), ("node", &id), ("name", &name), ("type", kind)];
        let data = object(members.map(|(name, text)| (name, text.into())));
        if self.flow.kind == ProgramKind::Workflow {
            self.trace("workflow.node.enter", with_member(data, "workflow", Some(self.flow.document.id.as_str())));
        } else {
            self.trace("node.enter", data);
        }
        *self.state.counters.visits.entry([&graph, "/", &id].concat()).or_default() += 1;
        self.record.steps.push(StepRecord { graph, id, name, kind, port: None, entered_at: self.effects.now(), left_at: None });
        true
    }

    /// Makes the current node the step, and records the session before it for observers. Returns its key, if anything is recorded.
    pub(super) fn begin_node(&self) -> Option<String> {
        let mut key = None;
        self.effects.enter_node(|| Cow::Owned(key.insert(self.state.current_node_key()).clone()));
        if let Some(key) = &key {
            self.record_view(key, "before");
        }
        key
    }

    /// Records the session after a node for observers. The node is the step again, because a program that it ran had steps of its own.
    pub(super) fn end_node(&self, key: Option<String>) {
        let Some(key) = key else { return };
        self.record_view(&key, "after");
        self.effects.enter_node(|| Cow::Owned(key));
    }

    fn record_view(&self, place: &str, edge: &str) {
        self.effects.record_view(place, edge, || into_members(serde_json::to_value(&self.state).unwrap_or_default()));
    }

    /// Publishes a warning by its code.
    pub(super) fn warn(&mut self, code: &'static str, data: Value) {
        self.record.debug.warnings.push(code);
        self.trace(code, data);
    }

    /// Records the port by which a node of the current graph was left.
    pub(super) fn record_port(&mut self, node: &str, port: &str) {
        let now = self.effects.now();
        let Some(graph) = self.state.stack.last().map(|it| it.graph.as_str()) else { return };
        self.effects.record_port(|| format!("{graph}/{node}:{port}"));
        // No step when the node was entered in an earlier turn.
        let step = self.record.steps.iter_mut().rev().find(|step| step.id == node && step.graph == graph);
        if let Some(step) = step.filter(|it| it.port.is_none()) {
            step.port = Some(port.to_owned());
            step.left_at = Some(now);
        }
    }
}

/// Adds a member to an object, if there is one.
pub fn with_member(mut value: Value, name: &str, member: Option<impl Into<Value>>) -> Value {
    if let (Some(member), Some(value)) = (member, value.as_object_mut()) {
        value.insert(name.to_owned(), member.into());
    }
    value
}

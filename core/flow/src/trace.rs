//! Traces a turn for observers, and records effects, warnings and ports.

use std::borrow::Cow;

use convengine_turn::NoticeBody;
use serde_json::{Value, json};

use super::Walker;
use super::redaction::mask_trace;

impl Walker<'_> {
    /// Publishes a trace event with the current graph and node.
    pub(super) fn trace(&self, kind: &str, mut data: Value) {
        if let Some(policy) = &self.flow.document.agent {
            data = mask_trace(policy, data);
        }
        if let (Some(frame), Some(data)) = (self.frame(), data.as_object_mut()) {
            for (name, place) in [("graph", &frame.graph), ("node", &frame.node)] {
                if !data.contains_key(name) {
                    data.insert(name.to_owned(), Value::String(place.clone()));
                }
            }
        }
        self.effects.publish(NoticeBody::Audit { stage: kind.to_owned().into(), payload: data.into() });
    }

    /// Makes the current node the step, and records the session before it for observers. Returns its key, if anything is recorded.
    pub(super) fn begin_node(&self) -> Option<String> {
        let mut key = None;
        self.effects.enter_node(|| Cow::Owned(key.insert(self.current_node_key()).clone()));
        key.iter().for_each(|it| self.record_view(it, "before"));
        key
    }

    /// Records the session after a node for observers. The node is the step again, because a program that it ran had steps of its own.
    pub(super) fn end_node(&self, key: Option<String>) {
        let Some(key) = key else { return };
        self.record_view(&key, "after");
        self.effects.enter_node(|| Cow::Owned(key));
    }

    fn record_view(&self, place: &str, edge: &str) {
        self.effects
            .record_view(place, edge, || convengine_text::json::into_members(serde_json::to_value(&self.state).unwrap_or_default()));
    }

    /// The current node as `graph/node`.
    pub(super) fn current_node_key(&self) -> String {
        self.frame().map(|it| format!("{}/{}", it.graph, it.node)).unwrap_or_default()
    }

    /// Publishes a warning by its code.
    pub(super) fn warn(&mut self, code: &'static str, data: Value) {
        self.record.debug.warnings.push(code);
        self.trace(code, data);
    }

    /// Records an effect with its outcome.
    pub(super) fn record_effect(&mut self, kind: &str, purpose: Option<&str>, outcome: &str, attempt: u32) {
        let mut effect = json!({"kind": kind, "outcome": outcome, "attempt": attempt});
        if let (Some(purpose), Some(effect)) = (purpose, effect.as_object_mut()) {
            effect.insert("purpose".to_owned(), json!(purpose));
        }
        self.record.debug.effects.push(effect);
    }

    /// Records the port by which a node of the current graph was left.
    pub(super) fn record_port(&mut self, node: &str, port: &str) {
        let now = self.effects.now();
        let Some(graph) = self.state.stack.last().map(|it| it.graph.as_str()) else { return };
        self.effects.record_port(|| format!("{graph}/{node}:{port}"));
        // No step when the node was entered in an earlier turn.
        let step = self.record.steps.iter_mut().rev().find(|it| it.id == node && it.graph == graph);
        if let Some(step) = step.filter(|it| it.port.is_none()) {
            step.port = Some(port.to_owned());
            step.left_at = Some(now);
        }
    }
}

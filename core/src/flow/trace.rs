//! What is told of a turn: trace events, the nodes that were entered, warnings.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::Walk;
use crate::json::object;
use crate::turn::{Millis, NoticeBody};

/// An entry of a node.
#[derive(Debug, Clone)]
pub struct Step<'c> {
    pub graph: String,
    pub id: Cow<'c, str>,
    pub name: Cow<'c, str>,
    pub kind: &'c str,
    pub port: Option<String>,
    pub at: Millis,
    pub left: Option<Millis>,
}

/// What the debug part of an answer says beside the steps.
#[derive(Debug, Clone, Default)]
pub struct Debug {
    pub matched: Value,
    pub effects: Vec<Value>,
    pub changed: Vec<String>,
    pub warnings: Vec<&'static str>,
    /// Who answered for an agent, and with which model.
    pub provider: Value,
    pub model: Value,
}

impl Walk<'_> {
    /// Tells what happened.
    pub(super) fn trace(&self, kind: &str, mut data: Value) {
        if let (Some(frame), Some(data)) = (self.frame(), data.as_object_mut()) {
            for (name, place) in [("graph", &frame.graph), ("node", &frame.node)] {
                if !data.contains_key(name) {
                    data.insert(name.to_owned(), Value::String(place.clone()));
                }
            }
        }
        self.door.notice(NoticeBody::Audit { stage: kind.to_owned(), payload: data });
    }

    /// Shows the session at the edge of a node to those who look at how the turn came about.
    pub(super) fn look(&self, place: &str, edge: &str) {
        self.door.view(place, edge, || crate::json::members(serde_json::to_value(&self.state).unwrap_or_default()));
    }

    /// Where the innermost frame stands, as `graph/node`.
    pub(super) fn standing(&self) -> String {
        self.frame().map(|it| format!("{}/{}", it.graph, it.node)).unwrap_or_default()
    }

    /// Tells what is doubtful, by its code.
    pub(super) fn warn(&mut self, code: &'static str, data: Value) {
        self.debug.warnings.push(code);
        self.trace(code, data);
    }

    /// Notes an effect with its outcome.
    pub(super) fn note_effect(&mut self, kind: &str, purpose: Option<&str>, outcome: &str, attempt: u32) {
        let mut effect = json!({"kind": kind, "outcome": outcome, "attempt": attempt});
        if let (Some(purpose), Some(effect)) = (purpose, effect.as_object_mut()) {
            effect.insert("purpose".to_owned(), json!(purpose));
        }
        self.debug.effects.push(effect);
    }

    /// Notes by which port a node of the innermost graph was left.
    pub(super) fn note_port(&mut self, node: &str, port: &str) {
        let now = self.door.now();
        let Some(graph) = self.state.stack.last().map(|it| it.graph.as_str()) else { return };
        // A node that was left in another turn is no step of this one.
        let step = self.steps.iter_mut().rev().find(|it| it.id == node && it.graph == graph);
        if let Some(step) = step.filter(|it| it.port.is_none()) {
            step.port = Some(port.to_owned());
            step.left = Some(now);
        }
    }
}

impl Step<'_> {
    /// As the answer shows it.
    pub fn shown(self, now: Millis) -> Value {
        let ms = self.left.unwrap_or(now) - self.at;
        object([
            ("id", self.id.into_owned().into()),
            ("name", self.name.into_owned().into()),
            ("type", self.kind.into()),
            ("graph", self.graph.into()),
            ("ms", ms.into()),
            ("port", self.port.into()),
        ])
    }
}

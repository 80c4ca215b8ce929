//! The frames of a session.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Walk;
use crate::config::flow::GraphRef;
use crate::config::flow::document::Param;
use crate::flow::state::{Frame, FrameKind, Resume};
use crate::text::path::Path;
use crate::turn::Map;

/// How deep intents may come between each other.
const INTERRUPTS: usize = 4;

impl<'c> Walk<'c> {
    /// The graph of the innermost frame.
    pub(super) fn graph(&self) -> Option<GraphRef<'c>> {
        self.flow.graph(&self.frame()?.graph)
    }

    /// Begins a graph above the others.
    pub(super) fn push(&mut self, graph: &str, kind: FrameKind) -> bool {
        let Some(entry) = self.flow.graph(graph).map(|it| it.form.entry.clone()) else { return false };
        self.state.stack.push(Frame {
            graph: graph.to_owned(),
            node: entry,
            kind,
            intent_id: None,
            locals: None,
            return_map: BTreeMap::new(),
            return_to: None,
            resume: None,
        });
        true
    }

    /// Begins the graph of an intent; a fifth one that comes between takes the place of the fourth.
    pub(super) fn push_intent(&mut self, intent: &str, graph: &str) -> bool {
        let interrupted = self.state.awaiting.take().is_some();
        let came_between =
            |it: &[Frame]| matches!(it, [below, above] if below.resume == Some(Resume::Reenter) && above.kind == FrameKind::Intent);
        let depth = self.state.stack.windows(2).filter(|it| came_between(it)).count();
        if interrupted && depth >= INTERRUPTS {
            self.warn("interrupt_depth", json!({"intent": intent}));
            while self.state.stack.pop().is_some_and(|it| it.kind != FrameKind::Intent) {}
        } else if interrupted && let Some(frame) = self.state.stack.last_mut() {
            frame.resume = Some(Resume::Reenter);
        }
        if !self.push(graph, FrameKind::Intent) {
            return false;
        }
        if let Some(frame) = self.state.stack.last_mut() {
            frame.intent_id = Some(intent.to_owned());
        }
        self.name_active();
        true
    }

    /// `_active_intent_id` names the innermost intent.
    pub(super) fn name_active(&mut self) {
        let active = self.state.stack.iter().rev().find_map(|it| it.intent_id.clone());
        self.state.vars.insert("_active_intent_id".to_owned(), json!(active));
    }

    /// Leaves everything above the root.
    pub(super) fn drop_frames(&mut self) {
        self.state.stack.truncate(1);
        self.state.counters.attempts.clear();
        if let Some(root) = self.state.stack.last_mut() {
            root.resume = None;
        }
        self.state.awaiting = None;
        self.state.vars.shift_remove("_slot");
        self.name_active();
    }

    /// Leaves the innermost frame; what it returns goes to its caller.
    pub(super) fn pop(&mut self, returned: &Map) -> Option<Frame> {
        let frame = self.state.stack.pop()?;
        for (name, variable) in &frame.return_map {
            let value = returned.get(name).or_else(|| frame.locals.as_ref()?.get(name)).cloned();
            if let (Some(value), Ok(path)) = (value, Path::parse(variable)) {
                // A variable that cannot take the value keeps its own; the trace says so.
                let _ = self.write(&path, value);
            }
        }
        self.name_active();
        Some(frame)
    }

    /// How deep the session is.
    pub(super) fn depth(&self) -> usize {
        self.state.stack.len()
    }

    /// What the innermost frame keeps to itself under a name.
    pub(super) fn local(&self, name: &str) -> Option<&'c Param> {
        self.frame()?.locals.as_ref()?;
        let form = self.graph()?.form;
        form.params.iter().chain(&form.returns).find(|it| it.name.first() == name)
    }
}

/// The members of a filled value.
pub(super) fn object(value: Value) -> Map {
    crate::json::members(value)
}

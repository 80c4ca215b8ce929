//! The call stack of a session.

use std::collections::BTreeMap;

use convengine_config::flow::document::ProgramKind;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::json;

use super::state::{Frame, FrameKind, Resume, SessionStatus};
use super::turn::Turn;

/// Maximum depth of interrupting intents.
const MAX_INTERRUPT_DEPTH: usize = 4;

impl<'c> Turn<'c> {
    /// Pushes a frame at the entry of a graph. Returns `false` when the graph does not exist.
    pub(super) fn push_graph(&mut self, graph: &str, kind: FrameKind) -> bool {
        let Some(entry) = self.flow.graph(graph).map(|it| it.definition.entry.clone()) else { return false };
        self.state.stack.push(Frame {
            graph: graph.to_owned(),
            node: entry,
            kind,
            intent_id: None,
            locals: None,
            return_map: BTreeMap::new(),
            return_to: None,
            resume: None,
            request: 0,
        });
        true
    }

    /// Pushes the graph of an intent. At the maximum depth, it replaces the innermost interrupting intent.
    pub(super) fn push_intent(&mut self, intent: &str, graph: &str) -> bool {
        let interrupted = self.state.awaiting.take().is_some();
        let is_interrupt =
            |pair: &[Frame]| matches!(pair, [below, above] if below.resume == Some(Resume::Reenter) && above.kind == FrameKind::Intent);
        let depth = self.state.stack.windows(2).filter(|it| is_interrupt(it)).count();
        if interrupted && depth >= MAX_INTERRUPT_DEPTH {
            self.warn("interrupt_depth", json!({"intent": intent}));
            while self.state.stack.pop().is_some_and(|it| it.kind != FrameKind::Intent) {}
        } else if interrupted {
            self.state.resume_with(Some(Resume::Reenter));
        }
        if !self.push_graph(graph, FrameKind::Intent) {
            return false;
        }
        self.state.counters.requests += 1;
        if let Some(frame) = self.state.stack.last_mut() {
            frame.intent_id = Some(intent.to_owned());
            frame.request = self.state.counters.requests;
        }
        self.update_active_intent();
        true
    }

    /// Sets `_active_intent_id` to the innermost intent.
    pub(super) fn update_active_intent(&mut self) {
        let active = self.state.stack.iter().rev().find_map(|it| it.intent_id.clone());
        self.state.vars.insert("_active_intent_id".to_owned(), json!(active));
    }

    /// Drops all frames above the root and stops waiting.
    pub(super) fn reset_to_root(&mut self) {
        self.state.stack.truncate(1);
        self.state.counters.attempts.clear();
        let entry = self.flow.graph(&self.flow.document.root).map(|it| &it.definition.entry);
        if let Some(root) = self.state.stack.last_mut() {
            root.resume = None;
            // A workflow or an AI agent has nowhere to idle: it begins again with the next message.
            if self.flow.kind != ProgramKind::Assistant
                && let Some(entry) = entry
            {
                entry.clone_into(&mut root.node);
            }
        }
        self.state.awaiting = None;
        self.state.vars.shift_remove("_slot");
        self.update_active_intent();
    }

    /// Completes the session.
    pub(super) fn complete_session(&mut self) {
        self.trace("session.completed", json!({}));
        self.state.status = SessionStatus::Completed;
        self.reset_to_root();
        self.state.timers.clear();
    }

    /// Pops the current frame and writes its return values to its caller.
    pub(super) fn pop_frame(&mut self, returned: &Map) -> Option<Frame> {
        let frame = self.state.stack.pop()?;
        for (name, variable) in &frame.return_map {
            let value = returned.get(name).or_else(|| frame.locals.as_ref()?.get(name)).cloned();
            if let (Some(value), Ok(path)) = (value, VariablePath::parse(variable)) {
                // A value of the wrong type is ignored.
                let _ = self.write_variable(&path, value);
            }
        }
        self.update_active_intent();
        Some(frame)
    }
}

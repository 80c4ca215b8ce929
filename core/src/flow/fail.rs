//! Handles failures of nodes and missing edges (docs/spec/flows.md#2.3).

use serde_json::{Value, json};

use super::Walk;
use super::variables::coerced;
use crate::config::flow::document::{FallbackOn, Filling, Node, NodeKind, OnError, ValueType};
use crate::flow::state::FrameKind;
use crate::text::path::Path;
use crate::turn::Map;

/// Stop reason: no node handles the failure.
const UNHANDLED: &str = "unhandled_error";

/// Stop reason: the turn has requested too many effects.
pub(super) const EFFECT_LIMIT: &str = "effect_limit";

/// Why a node failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// A stable code.
    pub code: String,
    /// What happened, without text from users, models or services.
    pub message: String,
    /// The number of the last attempt.
    pub attempt: u32,
    /// Id and name of the node, when it is not the current one.
    pub at: Option<(String, String)>,
}

impl Failure {
    /// Creates a failure of the current node at its first attempt.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), attempt: 1, at: None }
    }
}

impl<'c> Walk<'c> {
    /// Handles the failure of a node. Returns whether the turn continues.
    pub(super) fn fails(&mut self, node: &'c Node, failure: Failure) -> bool {
        self.note_failure(node, &failure);
        if failure.code == EFFECT_LIMIT {
            self.warn("guard.effect_limit", json!({"effects": self.debug.effects.len()}));
            self.gives_up(EFFECT_LIMIT);
            return false;
        }
        if node.on_error == OnError::Continue {
            self.take_defaults(node);
        }
        match self.handles(node, node.failure_port()) {
            Some(continues) => continues,
            None => self.falls_outwards(),
        }
    }

    /// Applies the `on_error` policy of the node. Returns whether the turn continues; `None` when the node does not handle the failure.
    fn handles(&mut self, node: &'c Node, port: Option<&str>) -> Option<bool> {
        match node.on_error {
            OnError::Continue => Some(self.leave(node, node.default_port())),
            OnError::Stop => {
                self.gives_up(UNHANDLED);
                Some(false)
            }
            OnError::Port => {
                let port = port.filter(|it| self.graph().is_some_and(|graph| graph.wired(&node.id, it)))?;
                Some(self.leave(node, port))
            }
        }
    }

    /// Writes the defaults of a failed node's outputs; outputs without a default are unchanged.
    fn take_defaults(&mut self, node: &'c Node) {
        let mut defaults: Vec<(&Path, &Value, Option<ValueType>)> = Vec::new();
        let mut extra = Map::new();
        if let NodeKind::Service(data) = &node.kind {
            let tool = data.tool_id.as_ref().and_then(|it| self.flow.tool(it));
            let outputs = tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs);
            defaults.extend(outputs.filter_map(|it| Some((&it.variable, it.default.as_ref()?, it.kind))));
            extra = self.arguments(data);
        }
        if let NodeKind::Entity(data) = &node.kind
            && !data.default.is_null()
        {
            defaults.push((&data.variable, &data.default, None));
        }
        for (variable, default, kind) in defaults {
            let default = self.filled(&Filling::from(default.clone()), extra.clone());
            // A default of the wrong type is ignored.
            let _ = match kind {
                Some(kind) => coerced(default, kind).ok().map(|it| self.write(variable, it)),
                None => Some(self.write(variable, default)),
            };
        }
    }

    fn note_failure(&mut self, node: &Node, failure: &Failure) {
        let graph = self.frame().map(|it| it.graph.clone()).unwrap_or_default();
        let (id, name) = failure.at.clone().unwrap_or_else(|| (node.id.clone(), node.name.clone()));
        let error = json!({
            "graph": graph, "node": id, "name": name, "code": failure.code, "message": failure.message, "attempt": failure.attempt,
        });
        self.trace("node.error", error.clone());
        self.state.vars.insert("_error".to_owned(), error);
    }

    /// Looks for a fallback node in the current graph, then in its callers. Returns whether the turn continues.
    fn falls_outwards(&mut self) -> bool {
        loop {
            match self.fallback(&[FallbackOn::Error]) {
                Caught::Yes => return true,
                Caught::Again => return self.loops(),
                Caught::No => {}
            }
            let called = self.frame().is_some_and(|it| it.kind == FrameKind::Subflow);
            if self.depth() <= 1 {
                self.gives_up(UNHANDLED);
                return false;
            }
            self.state.stack.pop();
            self.name_active();
            if let Some(frame) = self.state.stack.last_mut() {
                frame.resume = None;
            }
            // `_error` keeps the innermost failure (docs/spec/flow-rulings.md#28).
            let Some(caller) = self.node_now().filter(|_| called) else { continue };
            if let Some(continues) = self.handles(caller, Some("error")) {
                return continues;
            }
        }
    }

    /// Stops the turn: its fallback node has already been entered in this turn.
    fn loops(&mut self) -> bool {
        self.warn("fallback_loop", json!({"entered": self.fallbacks}));
        self.gives_up(UNHANDLED);
        false
    }

    /// Handles a port without an edge. Returns whether the turn continues.
    pub(super) fn no_edge(&mut self, node: &'c Node, port: &str) -> bool {
        self.note_failure(node, &Failure::new("no_edge", format!("no edge leads on from the port '{port}'")));
        match self.fallback(&[FallbackOn::NoEdge]) {
            Caught::Yes => return true,
            Caught::Again => return self.loops(),
            Caught::No => self.gives_up(UNHANDLED),
        }
        false
    }

    /// Moves to the fallback node of the current graph.
    pub(super) fn fallback(&mut self, on: &[FallbackOn]) -> Caught {
        let Some(graph) = self.graph() else { return Caught::No };
        let fits = |it: &&Node| matches!(&it.kind, NodeKind::Fallback(data) if on.contains(&data.on) || data.on == FallbackOn::Any);
        // A fallback for this case takes precedence over one for all.
        let exact = |it: &&Node| matches!(&it.kind, NodeKind::Fallback(data) if on.contains(&data.on));
        let found = graph.form.nodes.iter().find(exact).or_else(|| graph.form.nodes.iter().find(fits));
        let Some(node) = found.filter(|it| !it.disabled) else { return Caught::No };
        let place = format!("{}/{}", graph.form.id, node.id);
        if self.fallbacks.contains(&place) {
            return Caught::Again;
        }
        self.fallbacks.push(place);
        if let Some(frame) = self.state.stack.last_mut() {
            node.id.clone_into(&mut frame.node);
        }
        self.state.awaiting = None;
        Caught::Yes
    }

    /// Aborts the turn: sends the error message and resets the session to its root.
    pub(super) fn gives_up(&mut self, reason: &'static str) {
        self.trace("gives_up", json!({"reason": reason}));
        self.say_error();
        self.drop_frames();
        self.stop = reason;
    }
}

/// The result of looking for a fallback node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caught {
    Yes,
    No,
    /// It has already been entered in this turn.
    Again,
}

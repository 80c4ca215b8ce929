//! What follows when a node fails, or no edge leads on. (`convoship.md` 2.3)

use serde_json::{Value, json};

use super::Walk;
use super::variables::coerced;
use crate::config::flow::document::{FallbackOn, Filling, Node, NodeKind, OnError, ValueType};
use crate::flow::state::FrameKind;
use crate::text::path::Path;
use crate::turn::Map;

/// Why a turn stops that meets a failure which nobody handles.
const UNHANDLED: &str = "unhandled_error";

/// Why a turn stops that asks for too much.
pub(super) const EFFECT_LIMIT: &str = "effect_limit";

/// Why a node failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// A short code.
    pub code: String,
    /// What happened, without anything that somebody else has said.
    pub message: String,
    /// The attempt at which it was given up.
    pub attempt: u32,
    /// The node, when it is not the one at which the frame stands.
    pub at: Option<(String, String)>,
}

impl Failure {
    /// A failure of the first attempt at the node where the frame stands.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), attempt: 1, at: None }
    }
}

impl<'c> Walk<'c> {
    /// A node failed; says whether the walk goes on.
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
            Some(goes_on) => goes_on,
            None => self.falls_outwards(),
        }
    }

    /// What the node itself does about a failure; says whether the walk goes on, and nothing when it has no answer.
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

    /// The outputs of a node that failed take their defaults; those without one stay as they are.
    fn take_defaults(&mut self, node: &'c Node) {
        let mut defaults: Vec<(&Path, &Value, Option<ValueType>)> = Vec::new();
        let mut here = Map::new();
        if let NodeKind::Service(data) = &node.kind {
            let tool = data.tool_id.as_ref().and_then(|it| self.flow.tool(it));
            let outputs = tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs);
            defaults.extend(outputs.filter_map(|it| Some((&it.variable, it.default.as_ref()?, it.kind))));
            here = self.arguments(data);
        }
        if let NodeKind::Entity(data) = &node.kind
            && !data.default.is_null()
        {
            defaults.push((&data.variable, &data.default, None));
        }
        for (variable, default, kind) in defaults {
            let default = self.filled(&Filling::from(default.clone()), here.clone());
            // One that is of another type, or that the variable cannot take, leaves it as it is.
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

    /// The fallback of this graph, then the callers, each with its fallback.
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
            // The record of the inner failure stays. (ruling 28)
            let Some(caller) = self.node_now().filter(|_| called) else { continue };
            if let Some(goes_on) = self.handles(caller, Some("error")) {
                return goes_on;
            }
        }
    }

    /// A fallback that has been entered in this turn already is not entered again.
    fn loops(&mut self) -> bool {
        self.warn("fallback_loop", json!({"entered": self.fallbacks}));
        self.gives_up(UNHANDLED);
        false
    }

    /// No edge leads on from a port.
    pub(super) fn no_edge(&mut self, node: &'c Node, port: &str) -> bool {
        self.note_failure(node, &Failure::new("no_edge", format!("no edge leads on from the port '{port}'")));
        match self.fallback(&[FallbackOn::NoEdge]) {
            Caught::Yes => return true,
            Caught::Again => return self.loops(),
            Caught::No => self.gives_up(UNHANDLED),
        }
        false
    }

    /// Goes to the fallback node of the innermost graph.
    pub(super) fn fallback(&mut self, on: &[FallbackOn]) -> Caught {
        let Some(graph) = self.graph() else { return Caught::No };
        let fits = |it: &&Node| matches!(&it.kind, NodeKind::Fallback(data) if on.contains(&data.on) || data.on == FallbackOn::Any);
        // One for this very case before one for all.
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

    /// Says that something went wrong; the session stays, at its root.
    pub(super) fn gives_up(&mut self, why: &'static str) {
        self.trace("gives_up", json!({"reason": why}));
        self.say_error();
        self.drop_frames();
        self.stop = why;
    }
}

/// Whether there is a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caught {
    Yes,
    No,
    /// It has been entered in this turn already.
    Again,
}

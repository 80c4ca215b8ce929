//! What follows when a node fails, or no edge leads on. (`convoship.md` 2.3)

use serde_json::json;

use super::Walk;
use crate::config::flow::document::{FallbackOn, Node, NodeKind, OnError};
use crate::flow::state::FrameKind;

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
    /// A failure of the node at which the frame stands, at its first attempt.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), message: message.into(), attempt: 1, at: None }
    }
}

impl<'c> Walk<'c> {
    /// A node failed; says whether the walk goes on.
    pub(super) fn fails(&mut self, node: &'c Node, failure: Failure) -> bool {
        self.note_failure(node, &failure);
        match node.on_error {
            OnError::Continue => return self.leave(node, node.default_port()),
            OnError::Stop => {
                self.gives_up("unhandled_error");
                return false;
            }
            OnError::Port => {}
        }
        self.failed_at(node)
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

    /// The failure port, then the fallbacks of this graph and of its callers.
    fn failed_at(&mut self, node: &'c Node) -> bool {
        if let Some(port) = node.failure_port()
            && self.graph().is_some_and(|it| it.wired(&node.id, port))
        {
            return self.leave(node, port);
        }
        loop {
            match self.fallback(&[FallbackOn::Error]) {
                Caught::Yes => return true,
                Caught::Again => {
                    self.gives_up("fallback_loop");
                    return false;
                }
                Caught::No => {}
            }
            let called = self.frame().is_some_and(|it| it.kind == FrameKind::Subflow);
            if self.depth() <= 1 {
                self.gives_up("unhandled_error");
                return false;
            }
            self.state.stack.pop();
            self.name_active();
            let Some(caller) = self.node_now().filter(|_| called) else { continue };
            // The record of the inner failure stays. (ruling 28)
            if self.graph().is_some_and(|it| it.wired(&caller.id, "error")) {
                return self.leave(caller, "error");
            }
        }
    }

    /// No edge leads on from a port.
    pub(super) fn no_edge(&mut self, node: &'c Node, port: &str) -> bool {
        self.note_failure(node, &Failure::new("no_edge", format!("no edge leads on from the port '{port}'")));
        match self.fallback(&[FallbackOn::NoEdge]) {
            Caught::Yes => return true,
            Caught::Again => self.gives_up("fallback_loop"),
            Caught::No => self.gives_up("unhandled_error"),
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

//! The main loop: enters and leaves nodes until the turn ends (docs/spec/flows.md#6).

use std::borrow::Cow;

use serde_json::json;

use super::Walk;
use super::fail::Failure;
use super::trace::Step;
use crate::config::flow::document::{EdgeForm, Node, NodeKind};
use crate::flow::state::{Awaiting, FrameKind, Resume};
use crate::json::object;
use crate::turn::Map;

/// What happens after a node has run.
#[derive(Debug)]
pub(super) enum Next {
    /// The node is left by a port.
    Port(String),
    /// The node waits for input.
    Wait(Awaiting),
    /// The node has failed.
    Fail(Failure),
    /// The graph returns.
    Return(Ending),
    /// Another graph has been pushed.
    Entered,
    /// The turn ends here; the frame is unchanged.
    Stay,
}

/// The return of a graph.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The port by which the caller continues.
    pub exit: String,
    /// The return values.
    pub returned: Map,
    /// Whether the session ends; by default, only the root graph ends it.
    pub end_session: Option<bool>,
}

/// The target of an edge.
enum Edge<'c> {
    To(&'c str),
    None,
}

impl<'c> Walk<'c> {
    /// Runs nodes from the current one until the turn ends.
    pub(super) async fn walk(&mut self) {
        loop {
            if self.oversized {
                return;
            }
            let Some(node) = self.node_now() else {
                self.gives_up("no_node");
                return;
            };
            if !self.count(node) {
                return;
            }
            let place = self.standing();
            self.look(&place, "before");
            let next = if node.disabled { Next::Port(node.default_port().to_owned()) } else { self.enter(node).await };
            self.look(&place, "after");
            if !self.follow(node, next).await {
                return;
            }
        }
    }

    /// The current node.
    pub(super) fn node_now(&self) -> Option<&'c Node> {
        self.graph()?.node(&self.frame()?.node)
    }

    /// Records the entry of a node. Returns `false` at the step limit.
    fn count(&mut self, node: &'c Node) -> bool {
        let graph = self.frame().map(|it| it.graph.clone()).unwrap_or_default();
        self.step(graph, Cow::Borrowed(&node.id), Cow::Borrowed(&node.name), &node.type_name)
    }

    /// Records the entry of a node or of a parameter. Returns `false` at the step limit.
    pub(super) fn step(&mut self, graph: String, id: Cow<'c, str>, name: Cow<'c, str>, kind: &'c str) -> bool {
        let most = usize::try_from(self.settings().max_steps_per_turn).unwrap_or(64).min(64);
        if self.steps.len() >= most {
            self.step_limit();
            return false;
        }
        let members = [("graph", graph.as_str()), ("node", &id), ("name", &name), ("type", kind)];
        self.trace("node.enter", object(members.map(|(name, text)| (name, text.into()))));
        *self.state.counters.visits.entry([&graph, "/", &id].concat()).or_default() += 1;
        self.steps.push(Step { graph, id, name, kind, port: None, at: self.door.now(), left: None });
        true
    }

    /// Applies a transition. Returns whether the turn continues.
    pub(super) async fn follow(&mut self, node: &'c Node, next: Next) -> bool {
        match next {
            Next::Port(port) => self.leave(node, &port),
            Next::Wait(awaiting) => {
                self.wait(awaiting);
                false
            }
            Next::Fail(failure) => self.fails(node, failure),
            Next::Return(ending) => self.returns(ending).await,
            Next::Entered => true,
            Next::Stay => false,
        }
    }

    /// Leaves a node by a port. Returns whether the turn continues.
    pub(super) fn leave(&mut self, node: &'c Node, port: &str) -> bool {
        let found = match node.kind {
            NodeKind::Decision | NodeKind::Router => self.branch(node),
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Intent(_)
            | NodeKind::Message(_)
            | NodeKind::Entity(_)
            | NodeKind::Service(_)
            | NodeKind::Set(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::InstructionAgent(_)
            | NodeKind::Unavailable => {
                self.note_port(&node.id, port);
                self.edge(node, port)
            }
        };
        match found {
            Edge::To(target) => {
                let graph = self.frame().map(|it| it.graph.as_str()).unwrap_or_default();
                self.trace("edge", object([("node", node.id.as_str().into()), ("target", target.into()), ("graph", graph.into())]));
                if let Some(frame) = self.state.stack.last_mut() {
                    target.clone_into(&mut frame.node);
                }
                true
            }
            Edge::None => self.no_edge(node, port),
        }
    }

    fn edge(&self, node: &Node, port: &str) -> Edge<'c> {
        self.graph().and_then(|it| it.edges(&node.id, port).next()).map_or(Edge::None, |it| Edge::To(&it.target))
    }

    /// Chooses the first edge whose condition is true, default edges last; else the port `else`.
    fn branch(&mut self, node: &'c Node) -> Edge<'c> {
        let edges: Vec<&'c EdgeForm> = self.graph().into_iter().flat_map(|it| it.edges(&node.id, "out")).collect();
        for edge in edges {
            let is_true = edge.is_default() || edge.condition.as_ref().is_some_and(|it| self.holds(&it.expr, Map::new()));
            if is_true {
                self.note_port(&node.id, "out");
                let label = edge.condition.as_ref().map(|it| it.expr.source.as_str());
                self.trace(
                    "route",
                    object([("node", node.id.as_str().into()), ("edge", edge.id.as_str().into()), ("label", label.into())]),
                );
                return Edge::To(&edge.target);
            }
        }
        self.note_port(&node.id, "else");
        self.edge(node, "else")
    }

    /// Returns from a graph. Returns whether the turn continues.
    pub(super) async fn returns(&mut self, ending: Ending) -> bool {
        let Some(frame) = self.frame() else { return false };
        let kind = frame.kind;
        self.trace("graph.end", json!({"graph": frame.graph, "exit": ending.exit}));
        let is_root = kind == FrameKind::Root;
        if ending.end_session == Some(true) || (is_root && ending.end_session != Some(false)) {
            self.completes();
            return false;
        }
        if is_root {
            return false;
        }
        let Some(frame) = self.pop(&ending.returned) else { return false };
        if kind == FrameKind::Subflow && frame.return_to.is_some() {
            let Some(node) = self.node_now() else { return false };
            return self.back_from(node, &ending.exit);
        }
        self.resume_below().await
    }

    /// Continues the caller by the port of the exit, or by `out` when that has no edge.
    fn back_from(&mut self, node: &'c Node, exit: &str) -> bool {
        let port = match self.graph().is_some_and(|it| it.wired(&node.id, exit)) {
            true => exit,
            false if exit == "out" => "out",
            false => {
                self.warn("exit.unwired", json!({"node": node.id, "exit": exit}));
                "out"
            }
        };
        self.leave(node, port)
    }

    /// Continues the frame that is now current. Returns whether the turn continues.
    pub(super) async fn resume_below(&mut self) -> bool {
        let resumes = self.state.stack.last_mut().and_then(|it| it.resume.take());
        match (resumes, self.node_now()) {
            (Some(Resume::Reenter), Some(node)) => {
                self.trace("resume", json!({"node": node.id}));
                let next = self.ask_again(node);
                Box::pin(self.follow(node, next)).await
            }
            // The graph of the welcome event has run before the root graph.
            (Some(Resume::After), _) => true,
            (Some(Resume::Reenter) | None, _) => false,
        }
    }

    /// Completes the session.
    pub(super) fn completes(&mut self) {
        self.trace("session.completed", json!({}));
        self.state.status = crate::flow::state::SessionStatus::Completed;
        self.drop_frames();
        self.state.timers.clear();
    }
}

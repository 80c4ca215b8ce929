//! The main loop: enters and leaves nodes until the turn ends (docs/spec/flows.md#6).

use std::borrow::Cow;

use convengine_config::flow::document::{Node, ProgramKind};
use convengine_text::json::object;
use serde_json::json;

use super::Walker;
use crate::failure::Failure;
use crate::state::{FrameKind, Resume};
use crate::transition::{GraphReturn, Route, Transition};
use crate::turn::Turn;

/// Number of nodes listed in the trace of the step limit.
const MAX_TRACED_NODES: usize = 16;

impl<'c> Walker<'c> {
    /// Runs nodes from the current one until the turn ends.
    pub(super) async fn run_nodes(&mut self) {
        loop {
            if self.turn.record.is_oversized {
                return;
            }
            let Some(node) = self.turn.current_node() else {
                self.fail_document("no_node");
                return;
            };
            if !self.turn.record_node_entry(node) {
                self.abort_at_step_limit();
                return;
            }
            let key = self.turn.begin_node();
            let next = if node.disabled { Transition::Port(node.default_port().to_owned()) } else { self.turn.run_node(node).await };
            let next = self.resolve_transition(node, next).await;
            self.turn.end_node(key);
            if !self.apply_transition(node, next).await {
                return;
            }
        }
    }

    /// Applies a transition, and runs nodes if the turn continues.
    pub(super) async fn walk_on(&mut self, node: &'c Node, next: Transition) {
        if self.apply_transition(node, next).await {
            self.run_nodes().await;
        }
    }

    /// Does what a node leaves to the walk within its step: runs a program, resumes what was interrupted, or stops at the step limit.
    pub(super) async fn resolve_transition(&mut self, node: &'c Node, next: Transition) -> Transition {
        match next {
            Transition::RunProgram => self.start_program(node).await,
            Transition::Resume => match Box::pin(self.resume_frame()).await {
                true => Transition::GraphPushed,
                false => Transition::EndTurn,
            },
            Transition::StepLimit => {
                self.abort_at_step_limit();
                Transition::EndTurn
            }
            settled @ (Transition::Port(_)
            | Transition::Wait(_)
            | Transition::Fail(_)
            | Transition::Return(_)
            | Transition::GraphPushed
            | Transition::EndTurn) => settled,
        }
    }

    /// Applies a transition. Returns whether the turn continues.
    async fn apply_transition(&mut self, node: &'c Node, next: Transition) -> bool {
        match next {
            Transition::Port(port) => self.leave_node(node, &port),
            Transition::Wait(awaiting) => {
                self.turn.trace("await", json!({"kind": awaiting.kind, "node": awaiting.node}));
                self.turn.state.awaiting = Some(awaiting);
                false
            }
            Transition::Fail(failure) => self.fail_node(node, failure),
            Transition::Return(ending) => self.return_from_graph(ending).await,
            Transition::GraphPushed => true,
            // The last three were settled.
            Transition::EndTurn | Transition::Resume | Transition::RunProgram | Transition::StepLimit => false,
        }
    }

    /// Leaves a node by a port. Returns whether the turn continues.
    pub(super) fn leave_node(&mut self, node: &'c Node, port: &str) -> bool {
        match self.turn.choose_route(node, port) {
            Route { failure: Some(reason), .. } => self.fail_node(node, Failure::new("condition_failed", reason)),
            Route { edge: Some(edge), .. } => {
                self.turn.follow_edge(node, &edge.target);
                true
            }
            Route { failure: None, edge: None, .. } => self.handle_missing_edge(node, port),
        }
    }

    /// Aborts the turn at the limit on entered nodes (docs/spec/flows.md#12.1); variables are kept.
    fn abort_at_step_limit(&mut self) {
        let from = self.turn.record.steps.len().saturating_sub(MAX_TRACED_NODES);
        let last: Vec<String> = self.turn.record.steps.iter().skip(from).map(|it| format!("{}/{}", it.graph, it.id)).collect();
        self.turn.warn("guard.step_limit", json!({"steps": self.turn.record.steps.len(), "last": last}));
        self.abort_at_limit("step_limit");
    }

    /// Returns from a graph. Returns whether the turn continues.
    pub(super) async fn return_from_graph(&mut self, ending: GraphReturn) -> bool {
        self.nested_exit = ending.caller_transition.map(|it| *it).or(self.nested_exit.take());
        let Some(frame) = self.turn.state.frame() else { return false };
        let kind = frame.kind;
        self.turn.trace("graph.end", json!({"graph": frame.graph, "exit": ending.exit}));
        let is_root = kind == FrameKind::Root;
        if ending.end_session == Some(true) || (is_root && ending.end_session != Some(false)) {
            self.turn.complete_session();
            return false;
        }
        if is_root {
            return false;
        }
        let Some(frame) = self.turn.pop_frame(&ending.values) else { return false };
        if kind == FrameKind::Subflow && frame.return_to.is_some() {
            let Some(node) = self.turn.current_node() else { return false };
            return self.return_to_caller(node, &ending.exit);
        }
        self.resume_frame().await
    }

    /// Continues the caller by the port of the exit, or by `out` when that has no edge.
    fn return_to_caller(&mut self, node: &'c Node, exit: &str) -> bool {
        let port = match self.turn.graph().is_some_and(|it| it.is_wired(&node.id, exit)) {
            true => exit,
            false if exit == "out" => "out",
            false => {
                self.turn.warn("exit.unwired", json!({"node": node.id, "exit": exit}));
                "out"
            }
        };
        self.leave_node(node, port)
    }

    /// Continues the frame that is now current. Returns whether the turn continues.
    async fn resume_frame(&mut self) -> bool {
        let resume = self.turn.state.stack.last_mut().and_then(|it| it.resume.take());
        match (resume, self.turn.current_node()) {
            (Some(Resume::Reenter), Some(node)) => {
                self.turn.trace("resume", json!({"node": node.id}));
                self.turn.announce_return();
                let next = self.turn.reprompt_node(node);
                Box::pin(self.apply_transition(node, next)).await
            }
            // The graph of the welcome event has run before the root graph.
            (Some(Resume::After), _) => true,
            (Some(Resume::Reenter) | None, _) => false,
        }
    }
}

impl<'c> Turn<'c> {
    /// Records the entry of a node. Returns `false` at the step limit.
    fn record_node_entry(&mut self, node: &'c Node) -> bool {
        let graph = self.state.frame().map(|it| it.graph.clone()).unwrap_or_default();
        self.record_step(graph, Cow::Borrowed(&node.id), Cow::Borrowed(&node.name), &node.type_name)
    }

    fn follow_edge(&mut self, node: &Node, target: &str) {
        let graph = self.state.frame().map(|it| it.graph.as_str()).unwrap_or_default();
        if self.flow.kind != ProgramKind::Workflow {
            self.trace("edge", object([("node", node.id.as_str().into()), ("target", target.into()), ("graph", graph.into())]));
        }
        self.state.move_to(target);
    }
}

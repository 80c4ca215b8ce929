//! The main loop: enters and leaves nodes until the turn ends (docs/spec/flows.md#6).

use std::borrow::Cow;

use convengine_config::flow::document::{Branching, EdgeDef, Node, NodeKind, OnError, ProgramKind};
use convengine_text::json::object;
use convengine_turn::Map;
use serde_json::json;

use super::Walker;
use super::failure::Failure;
use super::messages::with_member;
use super::turn_record::StepRecord;
use crate::state::{Awaiting, FrameKind, Resume};

/// What happens after a node has run.
#[derive(Debug)]
pub(super) enum Transition {
    /// The node is left by a port.
    Port(String),
    /// The node waits for input.
    Wait(Awaiting),
    /// The node has failed.
    Fail(Failure),
    /// The graph returns.
    Return(GraphReturn),
    /// Another graph has been pushed.
    GraphPushed,
    /// The turn ends here; the frame is unchanged.
    EndTurn,
}

/// The return of a graph.
#[derive(Debug, Default)]
pub(super) struct GraphReturn {
    /// The port by which the caller continues.
    pub exit: String,
    /// The return values.
    pub values: Map,
    /// Whether the session ends; by default, only the root graph ends it.
    pub end_session: Option<bool>,
}

/// The target of an edge.
enum EdgeTarget<'c> {
    To(&'c str),
    /// A condition has no value, none holds, and the node handles failures.
    Failed(String),
    None,
}

impl<'c> Walker<'c> {
    /// Runs nodes from the current one until the turn ends.
    pub(super) async fn run_nodes(&mut self) {
        loop {
            if self.record.is_oversized {
                return;
            }
            let Some(node) = self.current_node() else {
                self.give_up("no_node");
                return;
            };
            if !self.record_node_entry(node) {
                return;
            }
            let key = self.begin_node();
            let next = if node.disabled { Transition::Port(node.default_port().to_owned()) } else { self.run_node(node).await };
            self.end_node(key);
            if !self.apply_transition(node, next).await {
                return;
            }
        }
    }

    /// The current node.
    pub(super) fn current_node(&self) -> Option<&'c Node> {
        self.graph()?.node(&self.frame()?.node)
    }

    /// Records the entry of a node. Returns `false` at the step limit.
    fn record_node_entry(&mut self, node: &'c Node) -> bool {
        let graph = self.frame().map(|it| it.graph.clone()).unwrap_or_default();
        self.record_step(graph, Cow::Borrowed(&node.id), Cow::Borrowed(&node.name), &node.type_name)
    }

    /// Records the entry of a node or of a parameter. Returns `false` at the step limit.
    pub(super) fn record_step(&mut self, graph: String, id: Cow<'c, str>, name: Cow<'c, str>, kind: &'c str) -> bool {
        let most = usize::try_from(self.settings().max_steps_per_turn).unwrap_or(64).min(64);
        if self.record.steps.len() >= most {
            self.abort_at_step_limit();
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

    /// Applies a transition. Returns whether the turn continues.
    pub(super) async fn apply_transition(&mut self, node: &'c Node, next: Transition) -> bool {
        match next {
            Transition::Port(port) => self.leave_node(node, &port),
            Transition::Wait(awaiting) => {
                self.await_input(awaiting);
                false
            }
            Transition::Fail(failure) => self.fail_node(node, failure),
            Transition::Return(ending) => self.return_from_graph(ending).await,
            Transition::GraphPushed => true,
            Transition::EndTurn => false,
        }
    }

    /// Leaves a node by a port. Returns whether the turn continues.
    pub(super) fn leave_node(&mut self, node: &'c Node, port: &str) -> bool {
        let has_several = || self.graph().is_some_and(|it| it.edges(&node.id, port).count() > 1);
        let found = if self.flow.kind == ProgramKind::Workflow {
            self.choose_workflow_edge(node, port)
        } else if node.traits().branching == Branching::Out && port != "error" {
            self.choose_branch(node, "out")
        } else if matches!(node.kind, NodeKind::Python(_)) && has_several() {
            // A script with branches may have several edges on a port.
            self.choose_branch(node, port)
        } else {
            self.record_port(&node.id, port);
            self.find_edge(node, port)
        };
        match found {
            EdgeTarget::To(target) => {
                let graph = self.frame().map(|it| it.graph.as_str()).unwrap_or_default();
                if self.flow.kind != ProgramKind::Workflow {
                    self.trace("edge", object([("node", node.id.as_str().into()), ("target", target.into()), ("graph", graph.into())]));
                }
                if let Some(frame) = self.state.stack.last_mut() {
                    target.clone_into(&mut frame.node);
                }
                true
            }
            EdgeTarget::Failed(reason) => self.fail_node(node, Failure::new("condition_failed", reason)),
            EdgeTarget::None => self.handle_missing_edge(node, port),
        }
    }

    /// Evaluates the condition of an edge; a default edge holds. Keeps in `failed` why the first condition has no value.
    fn edge_holds(&mut self, edge: &EdgeDef, failed: &mut Option<String>) -> bool {
        let Some(condition) = edge.condition.as_ref().filter(|_| !edge.is_default()) else { return true };
        match self.evaluate_condition(&condition.expr, Map::new()) {
            Ok(holds) => holds,
            Err(reason) => {
                failed.get_or_insert(reason);
                false
            }
        }
    }

    /// Whether a decision fails when a condition of it has no value: it says what happens then. Otherwise such a condition does not hold.
    fn handles_failed_conditions(&self, node: &Node) -> bool {
        let is_wired = || self.graph().is_some_and(|it| it.is_wired(&node.id, "error"));
        node.traits().branching == Branching::Out && (node.on_error == OnError::Stop || node.on_error == OnError::Port && is_wired())
    }

    fn find_edge(&self, node: &Node, port: &str) -> EdgeTarget<'c> {
        self.graph().and_then(|it| it.edges(&node.id, port).next()).map_or(EdgeTarget::None, |it| EdgeTarget::To(&it.target))
    }

    /// Chooses the first edge of a port whose condition is true, default edges last; else, for a decision, the port `else`.
    fn choose_branch(&mut self, node: &'c Node, port: &str) -> EdgeTarget<'c> {
        let edges: Vec<&'c EdgeDef> = self.graph().into_iter().flat_map(|it| it.edges(&node.id, port)).collect();
        let handles_failed = self.handles_failed_conditions(node);
        let mut failed = None;
        for edge in edges {
            if edge.is_default() && failed.is_some() && handles_failed {
                break;
            }
            if self.edge_holds(edge, &mut failed) {
                self.explain_route(node, &[port, "else"], port, Some(edge));
                self.record_port(&node.id, port);
                let label = edge.condition.as_ref().map(|it| it.expr.source.as_str());
                self.trace(
                    "route",
                    object([("node", node.id.as_str().into()), ("edge", edge.id.as_str().into()), ("label", label.into())]),
                );
                return EdgeTarget::To(&edge.target);
            }
        }
        if matches!(node.kind, NodeKind::Python(_)) {
            self.explain_route(node, &[port], port, None);
            self.record_port(&node.id, port);
            return EdgeTarget::None;
        }
        if let Some(reason) = failed.filter(|_| handles_failed) {
            self.explain_route(node, &[port], "error", None);
            return EdgeTarget::Failed(reason);
        }
        let chosen = self.graph().and_then(|it| it.edges(&node.id, "else").next());
        self.explain_route(node, &[port, "else"], "else", chosen);
        self.record_port(&node.id, "else");
        chosen.map_or(EdgeTarget::None, |it| EdgeTarget::To(&it.target))
    }

    /// Chooses the first edge of a port of a workflow whose condition is true; for a node that branches, else the port `else`.
    fn choose_workflow_edge(&mut self, node: &'c Node, port: &str) -> EdgeTarget<'c> {
        let is_branching = node.traits().branching == Branching::Out && port != "error";
        let ports = [port, "else"];
        let ports = ports.get(..if is_branching { 2 } else { 1 }).unwrap_or_default();
        let handles_failed = is_branching && self.handles_failed_conditions(node);
        let mut failed: Option<String> = None;
        for port in ports {
            let edges: Vec<&'c EdgeDef> = self.graph().into_iter().flat_map(|it| it.edges(&node.id, port)).collect();
            for edge in edges {
                if edge.is_default()
                    && let Some(reason) = failed.take_if(|_| handles_failed)
                {
                    self.explain_route(node, ports, "error", None);
                    return EdgeTarget::Failed(reason);
                }
                if self.edge_holds(edge, &mut failed) {
                    self.explain_route(node, ports, port, Some(edge));
                    self.record_port(&node.id, port);
                    let members = [("node", &node.id), ("edge", &edge.id), ("target", &edge.target)];
                    self.trace("workflow.node.route", object(members.map(|(name, it)| (name, it.as_str().into()))));
                    return EdgeTarget::To(&edge.target);
                }
            }
        }
        if let Some(reason) = failed.filter(|_| handles_failed) {
            self.explain_route(node, ports, "error", None);
            return EdgeTarget::Failed(reason);
        }
        let port = if is_branching { "else" } else { port };
        self.explain_route(node, ports, port, None);
        self.record_port(&node.id, port);
        EdgeTarget::None
    }

    /// Returns from a graph. Returns whether the turn continues.
    pub(super) async fn return_from_graph(&mut self, ending: GraphReturn) -> bool {
        let Some(frame) = self.frame() else { return false };
        let kind = frame.kind;
        self.trace("graph.end", json!({"graph": frame.graph, "exit": ending.exit}));
        let is_root = kind == FrameKind::Root;
        if ending.end_session == Some(true) || (is_root && ending.end_session != Some(false)) {
            self.complete_session();
            return false;
        }
        if is_root {
            return false;
        }
        let Some(frame) = self.pop_frame(&ending.values) else { return false };
        if kind == FrameKind::Subflow && frame.return_to.is_some() {
            let Some(node) = self.current_node() else { return false };
            return self.return_to_caller(node, &ending.exit);
        }
        self.resume_frame().await
    }

    /// Continues the caller by the port of the exit, or by `out` when that has no edge.
    fn return_to_caller(&mut self, node: &'c Node, exit: &str) -> bool {
        let port = match self.graph().is_some_and(|it| it.is_wired(&node.id, exit)) {
            true => exit,
            false if exit == "out" => "out",
            false => {
                self.warn("exit.unwired", json!({"node": node.id, "exit": exit}));
                "out"
            }
        };
        self.leave_node(node, port)
    }

    /// Continues the frame that is now current. Returns whether the turn continues.
    pub(super) async fn resume_frame(&mut self) -> bool {
        let resumes = self.state.stack.last_mut().and_then(|it| it.resume.take());
        match (resumes, self.current_node()) {
            (Some(Resume::Reenter), Some(node)) => {
                self.trace("resume", json!({"node": node.id}));
                self.announce_return();
                let next = self.reprompt_node(node);
                Box::pin(self.apply_transition(node, next)).await
            }
            // The graph of the welcome event has run before the root graph.
            (Some(Resume::After), _) => true,
            (Some(Resume::Reenter) | None, _) => false,
        }
    }

    /// Completes the session.
    pub(super) fn complete_session(&mut self) {
        self.trace("session.completed", json!({}));
        self.state.status = crate::state::SessionStatus::Completed;
        self.reset_to_root();
        self.state.timers.clear();
    }
}

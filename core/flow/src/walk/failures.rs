//! Handles failures of nodes and missing edges (docs/spec/flows.md#2.3).

use convengine_config::flow::document::{FallbackOn, Node, NodeKind, OnError, ValueTemplate, ValueType};
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::Walker;
use crate::failure::{EFFECT_LIMIT, Failure};
use crate::state::{FrameKind, SessionStatus};
use crate::turn::Turn;
use crate::variables::coerce;

/// Stop reason: no node handles the failure.
const UNHANDLED_ERROR: &str = "unhandled_error";

impl<'c> Walker<'c> {
    /// Handles the failure of a node. Returns whether the turn continues.
    pub(super) fn fail_node(&mut self, node: &'c Node, failure: Failure) -> bool {
        self.turn.record_failure(node, &failure);
        if failure.code == EFFECT_LIMIT {
            self.turn.warn("guard.effect_limit", json!({"effects": self.turn.record.debug.effects.len()}));
            self.abort_at_limit(EFFECT_LIMIT);
            return false;
        }
        if node.on_error == OnError::Continue {
            self.turn.write_default_outputs(node);
        }
        match self.apply_error_policy(node, node.failure_port()) {
            Some(continues) => continues,
            None => self.propagate_failure(),
        }
    }

    /// Applies the `on_error` policy of the node. Returns whether the turn continues; `None` when the node does not handle the failure.
    fn apply_error_policy(&mut self, node: &'c Node, port: Option<&str>) -> Option<bool> {
        match node.on_error {
            OnError::Continue => Some(self.leave_node(node, node.default_port())),
            OnError::Stop => {
                self.abort_turn(UNHANDLED_ERROR);
                Some(false)
            }
            OnError::Port => {
                let port = port.filter(|port| self.turn.graph().is_some_and(|graph| graph.is_wired(&node.id, port)))?;
                Some(self.leave_node(node, port))
            }
        }
    }

    /// Looks for a fallback node in the current graph, then in its callers. Returns whether the turn continues.
    fn propagate_failure(&mut self) -> bool {
        loop {
            match self.enter_fallback(&[FallbackOn::Error]) {
                FallbackSearch::Entered => return true,
                FallbackSearch::AlreadyEntered => return self.stop_fallback_loop(),
                FallbackSearch::NotFound => {}
            }
            let is_subflow = self.turn.state.frame().is_some_and(|it| it.kind == FrameKind::Subflow);
            if self.turn.state.depth() <= 1 {
                self.fail_document(UNHANDLED_ERROR);
                return false;
            }
            self.turn.state.stack.pop();
            self.turn.update_active_intent();
            self.turn.state.resume_with(None);
            // `_error` keeps the innermost failure (docs/spec/flow-rulings.md#28).
            let Some(caller) = self.turn.current_node().filter(|_| is_subflow) else { continue };
            if let Some(continues) = self.apply_error_policy(caller, Some("error")) {
                return continues;
            }
        }
    }

    /// Stops the turn: its fallback node has already been entered in this turn.
    fn stop_fallback_loop(&mut self) -> bool {
        self.turn.warn("fallback_loop", json!({"entered": self.entered_fallbacks}));
        self.fail_document(UNHANDLED_ERROR);
        false
    }

    /// Handles a port without an edge. Returns whether the turn continues.
    pub(super) fn handle_missing_edge(&mut self, node: &'c Node, port: &str) -> bool {
        self.turn.record_failure(node, &Failure::new("no_edge", format!("no edge leads on from the port '{port}'")));
        match self.enter_fallback(&[FallbackOn::NoEdge]) {
            FallbackSearch::Entered => return true,
            FallbackSearch::AlreadyEntered => return self.stop_fallback_loop(),
            FallbackSearch::NotFound => self.fail_document(UNHANDLED_ERROR),
        }
        false
    }

    /// Ends a document in which nothing handles a failure: the node that runs it has failed then, or else the turn is over.
    pub(super) fn fail_document(&mut self, reason: &'static str) {
        if self.propagates_failure() {
            self.turn.state.status = SessionStatus::Failed;
        } else {
            self.abort_turn(reason);
        }
    }

    /// Moves to the fallback node of the current graph.
    pub(super) fn enter_fallback(&mut self, on: &[FallbackOn]) -> FallbackSearch {
        let Some(graph) = self.turn.graph() else { return FallbackSearch::NotFound };
        let enabled = || graph.definition.nodes.iter().filter(|it| !it.disabled);
        let case = |node: &Node| if let NodeKind::Fallback(data) = &node.kind { Some(data.on) } else { None };
        // A fallback for this case takes precedence over one for all.
        let exact = enabled().find(|node| case(node).is_some_and(|it| on.contains(&it)));
        let Some(node) = exact.or_else(|| enabled().find(|node| case(node) == Some(FallbackOn::Any))) else {
            self.turn.explain_fallback_node(on, None, false);
            return FallbackSearch::NotFound;
        };
        let place = format!("{}/{}", graph.definition.id, node.id);
        let is_entered = self.entered_fallbacks.contains(&place);
        self.turn.explain_fallback_node(on, Some(node), is_entered);
        if is_entered {
            return FallbackSearch::AlreadyEntered;
        }
        self.entered_fallbacks.push(place);
        self.turn.state.move_to(&node.id);
        self.turn.state.awaiting = None;
        FallbackSearch::Entered
    }

    /// Aborts the turn: sends the error message and resets the session to its root.
    pub(crate) fn abort_turn(&mut self, reason: &'static str) {
        self.turn.trace("gives_up", json!({"reason": reason}));
        self.turn.send_error();
        self.turn.reset_to_root();
        self.turn.record.stop_reason = reason;
    }

    /// Aborts the turn at a limit that holds across nested documents: sends the error message of the outermost one that has one.
    pub(super) fn abort_at_limit(&mut self, reason: &'static str) {
        self.turn.trace("gives_up", json!({"reason": reason}));
        self.send_outermost_error();
        self.turn.reset_to_root();
        self.turn.record.stop_reason = reason;
    }
}

impl<'c> Turn<'c> {
    /// Writes the defaults of a failed node's outputs; outputs without a default are unchanged.
    fn write_default_outputs(&mut self, node: &'c Node) {
        let mut defaults: Vec<(&VariablePath, &Value, Option<ValueType>)> = Vec::new();
        let mut extra = Map::new();
        if let NodeKind::Service(data) = &node.kind {
            let tool = data.tool_id.as_ref().and_then(|it| self.flow.tool(it));
            let outputs = tool.into_iter().flat_map(|it| &it.outputs).chain(&data.outputs);
            defaults.extend(outputs.filter_map(|output| Some((&output.variable, output.default.as_ref()?, output.kind))));
            extra = self.args_roots(data);
        }
        if let NodeKind::Entity(data) = &node.kind
            && !data.default.is_null()
        {
            defaults.push((&data.variable, &data.default, None));
        }
        for (variable, default, kind) in defaults {
            let default = self.render_json(&ValueTemplate::from(default.clone()), extra.clone());
            // A default of the wrong type is ignored.
            let _ = match kind {
                Some(kind) => coerce(default, kind).ok().map(|it| self.write_variable(variable, it)),
                None => Some(self.write_variable(variable, default)),
            };
        }
    }

    fn record_failure(&mut self, node: &Node, failure: &Failure) {
        let graph = self.state.frame().map(|it| it.graph.clone()).unwrap_or_default();
        let (id, name) = failure.node.clone().unwrap_or_else(|| (node.id.clone(), node.name.clone()));
        let error = json!({
            "graph": graph, "node": id, "name": name, "code": failure.code, "message": failure.message, "attempt": failure.attempt,
        });
        self.trace("node.error", error.clone());
        self.state.vars.insert("_error".to_owned(), error);
    }
}

/// The result of looking for a fallback node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FallbackSearch {
    Entered,
    NotFound,
    /// It has already been entered in this turn.
    AlreadyEntered,
}

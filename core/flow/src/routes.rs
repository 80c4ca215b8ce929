//! Decides by which edge a node is left (docs/spec/flows.md#6).

use convengine_config::flow::document::{Branching, EdgeDef, Node, NodeKind, OnError, ProgramKind};
use convengine_text::json::object;
use convengine_turn::Map;

use super::transition::Route;
use super::turn::Turn;

impl<'c> Turn<'c> {
    /// Decides by which edge a node is left by a port, and publishes it.
    pub(super) fn choose_route<'p>(&mut self, node: &'c Node, port: &'p str) -> Route<'c, 'p> {
        let has_several = || self.edges(node, port).len() > 1;
        let is_workflow = self.flow.kind == ProgramKind::Workflow;
        let route = if is_workflow {
            self.choose_workflow_edge(node, port)
        } else if node.traits().branching == Branching::Out && port != "error" {
            self.choose_branch(node, "out")
        } else if matches!(node.kind, NodeKind::Python(_)) && has_several() {
            // A script with branches may have several edges on a port.
            self.choose_branch(node, port)
        } else {
            self.record_port(&node.id, port);
            return Route { port, edge: self.first_edge(node, port), ..Route::new(port) };
        };
        self.explain_route(node, &route);
        if route.failure.is_none() {
            self.record_port(&node.id, route.port);
        }
        match route.edge {
            Some(edge) if is_workflow => {
                let members = [("node", &node.id), ("edge", &edge.id), ("target", &edge.target)];
                self.trace("workflow.node.route", object(members.map(|(name, value)| (name, value.as_str().into()))));
            }
            Some(edge) if route.port != "else" => {
                let label = edge.condition.as_ref().map(|it| it.expr.source.as_str());
                let members = [("node", node.id.as_str().into()), ("edge", edge.id.as_str().into()), ("label", label.into())];
                self.trace("route", object(members));
            }
            Some(_) | None => {}
        }
        route
    }

    /// Chooses the first edge of a port whose condition is true, default edges last; else, for a decision, the port `else`.
    fn choose_branch<'p>(&mut self, node: &'c Node, port: &'p str) -> Route<'c, 'p> {
        let handles_failed = self.handles_failed_conditions(node);
        let mut failed = None;
        for edge in self.edges(node, port) {
            if edge.is_default() && failed.is_some() && handles_failed {
                break;
            }
            if self.edge_holds(edge, &mut failed) {
                return Route { tries_else: true, edge: Some(edge), ..Route::new(port) };
            }
        }
        if matches!(node.kind, NodeKind::Python(_)) {
            return Route::new(port);
        }
        if let Some(reason) = failed.filter(|_| handles_failed) {
            return Route { port: "error", failure: Some(reason), ..Route::new(port) };
        }
        Route { tries_else: true, port: "else", edge: self.first_edge(node, "else"), ..Route::new(port) }
    }

    /// Chooses the first edge of a port of a workflow whose condition is true; for a node that branches, else the port `else`.
    fn choose_workflow_edge<'p>(&mut self, node: &'c Node, port: &'p str) -> Route<'c, 'p> {
        let tries_else = node.traits().branching == Branching::Out && port != "error";
        let handles_failed = tries_else && self.handles_failed_conditions(node);
        let route = Route { tries_else, ..Route::new(port) };
        let mut failed: Option<String> = None;
        for port in route.tried_ports() {
            for edge in self.edges(node, port) {
                if edge.is_default() && failed.is_some() && handles_failed {
                    return Route { port: "error", failure: failed, ..route };
                }
                if self.edge_holds(edge, &mut failed) {
                    return Route { port, edge: Some(edge), ..route };
                }
            }
        }
        match failed.filter(|_| handles_failed) {
            Some(reason) => Route { port: "error", failure: Some(reason), ..route },
            None => Route { port: if tries_else { "else" } else { port }, ..route },
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

    fn edges(&self, node: &Node, port: &str) -> Vec<&'c EdgeDef> {
        self.graph().into_iter().flat_map(|it| it.edges(&node.id, port)).collect()
    }

    fn first_edge(&self, node: &Node, port: &str) -> Option<&'c EdgeDef> {
        self.graph().and_then(|graph| graph.edges(&node.id, port).next())
    }
}

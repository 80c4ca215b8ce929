//! `subflow` nodes: run another graph (docs/spec/flows.md#4.11).

use convengine_config::flow::document::{CallMode, Node, SubflowData, ValueType};
use convengine_turn::Map;
use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::super::variables::coerce;
use super::RunNode;
use crate::state::FrameKind;
use convengine_text::json::into_members;

impl RunNode for SubflowData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_subflow(node, self)
    }
}

impl<'c> Turn<'c> {
    fn run_subflow(&mut self, node: &'c Node, data: &'c SubflowData) -> Transition {
        let Some(callee) = self.flow.graph(&data.graph) else {
            return Transition::Fail(Failure::new("graph_missing", format!("unknown graph '{}'", data.graph)));
        };
        let depth = self.state.stack.iter().filter(|it| it.kind == FrameKind::Subflow).count();
        if data.mode == CallMode::Call && depth >= self.settings().max_call_depth {
            return Transition::Fail(Failure::new(
                "call_depth",
                format!("graphs call each other more than {} deep", self.settings().max_call_depth),
            ));
        }
        let inputs = data.inputs.as_ref().map(|template| into_members(self.render_json(template, Map::new()))).unwrap_or_default();
        let missing_param = callee
            .definition
            .params
            .iter()
            .find(|param| param.required && param.default.is_none() && non_null_input(&inputs, param.name.first_name()).is_none());
        if let Some(param) = missing_param {
            return Transition::Fail(Failure::new("param_missing", format!("the graph '{}' needs '{}'", data.graph, param.name)));
        }
        let has_locals = !callee.definition.params.is_empty() || !callee.definition.returns.is_empty();
        let mut locals = has_locals.then(Map::new);
        for param in callee.definition.params.iter().filter(|_| has_locals) {
            let Some(value) = non_null_input(&inputs, param.name.first_name()).cloned().or_else(|| param.default.clone()) else { continue };
            let Ok(value) = coerce(value, param.kind.unwrap_or(ValueType::Any)) else {
                return Transition::Fail(Failure::new(
                    "type_mismatch",
                    format!("'{}' of the graph '{}' is of another type", param.name, data.graph),
                ));
            };
            locals.get_or_insert_default().insert(param.name.first_name().to_owned(), value);
        }
        if !has_locals {
            for (name, value) in &inputs {
                if let Ok(path) = convengine_text::variable_path::VariablePath::parse(name) {
                    // The graph declares nothing, so it reads the session. A value of the wrong type is ignored.
                    let _ = self.write_session_variable(&path, value.clone());
                }
            }
        }
        self.trace("subflow", json!({"graph": data.graph, "mode": if data.mode == CallMode::Call { "call" } else { "goto" }}));
        match data.mode {
            CallMode::Call => {
                self.push_graph(&data.graph, FrameKind::Subflow);
                if let Some(frame) = self.state.stack.last_mut() {
                    frame.return_to = Some(node.id.clone());
                    frame.return_map = data.outputs.iter().map(|(name, path)| (name.clone(), path.to_string())).collect();
                    frame.locals = locals;
                }
            }
            // The callee reuses the frame with its kind and its caller (docs/spec/flow-rulings.md#37).
            CallMode::Goto => {
                self.record_port(&node.id, "goto");
                if let Some(frame) = self.state.stack.last_mut() {
                    data.graph.clone_into(&mut frame.graph);
                    callee.definition.entry.clone_into(&mut frame.node);
                    frame.locals = locals;
                }
            }
        }
        Transition::GraphPushed
    }
}

fn non_null_input<'i>(inputs: &'i Map, name: &str) -> Option<&'i Value> {
    inputs.get(name).filter(|it| !it.is_null())
}

//! `subflow` nodes: run another graph (docs/spec/flows.md#4.11).

use serde_json::{Value, json};

use super::super::Walk;
use super::super::fail::Failure;
use super::super::frames::object;
use super::super::variables::coerced;
use super::super::walk::Next;
use crate::config::flow::document::{CallMode, Node, SubflowData, ValueType};
use crate::flow::state::FrameKind;
use crate::turn::Map;

impl<'c> Walk<'c> {
    pub(super) fn subflow(&mut self, node: &'c Node, data: &'c SubflowData) -> Next {
        let Some(callee) = self.flow.graph(&data.graph) else {
            return Next::Fail(Failure::new("graph_missing", format!("there is no graph '{}'", data.graph)));
        };
        let depth = self.state.stack.iter().filter(|it| it.kind == FrameKind::Subflow).count();
        if data.mode == CallMode::Call && depth >= self.settings().max_call_depth {
            return Next::Fail(Failure::new(
                "call_depth",
                format!("graphs call each other more than {} deep", self.settings().max_call_depth),
            ));
        }
        let inputs = data.inputs.as_ref().map(|it| object(self.filled(it, Map::new()))).unwrap_or_default();
        let missing = callee.form.params.iter().find(|it| it.required && it.default.is_none() && given(&inputs, it.name.first()).is_none());
        if let Some(param) = missing {
            return Next::Fail(Failure::new("param_missing", format!("the graph '{}' needs '{}'", data.graph, param.name)));
        }
        let has_locals = !callee.form.params.is_empty() || !callee.form.returns.is_empty();
        let mut locals = has_locals.then(Map::new);
        for param in callee.form.params.iter().filter(|_| has_locals) {
            let Some(value) = given(&inputs, param.name.first()).cloned().or_else(|| param.default.clone()) else { continue };
            let Ok(value) = coerced(value, param.kind.unwrap_or(ValueType::Any)) else {
                return Next::Fail(Failure::new(
                    "type_mismatch",
                    format!("'{}' of the graph '{}' is of another type", param.name, data.graph),
                ));
            };
            locals.get_or_insert_default().insert(param.name.first().to_owned(), value);
        }
        if !has_locals {
            for (name, value) in &inputs {
                if let Ok(path) = crate::text::path::Path::parse(name) {
                    // A value of the wrong type is ignored.
                    let _ = self.write(&path, value.clone());
                }
            }
        }
        self.trace("subflow", json!({"graph": data.graph, "mode": if data.mode == CallMode::Call { "call" } else { "goto" }}));
        match data.mode {
            CallMode::Call => {
                self.push(&data.graph, FrameKind::Subflow);
                if let Some(frame) = self.state.stack.last_mut() {
                    frame.return_to = Some(node.id.clone());
                    frame.return_map = data.outputs.iter().map(|(name, path)| (name.clone(), path.to_string())).collect();
                    frame.locals = locals;
                }
            }
            // The callee reuses the frame with its kind and its caller (docs/spec/flow-rulings.md#37).
            CallMode::Goto => {
                self.note_port(&node.id, "goto");
                if let Some(frame) = self.state.stack.last_mut() {
                    data.graph.clone_into(&mut frame.graph);
                    callee.form.entry.clone_into(&mut frame.node);
                    frame.locals = locals;
                }
            }
        }
        Next::Entered
    }
}

fn given<'i>(inputs: &'i Map, name: &str) -> Option<&'i Value> {
    inputs.get(name).filter(|it| !it.is_null())
}

//! `intent` nodes: the entry of an intent, which collects its parameters (docs/spec/flows.md#3, #4.2).

use convengine_config::flow::document::{IntentData, IntentParameter, Node, NodeKind};
use serde_json::Value;

use super::super::failure::Failure;
use super::super::intent_slots::to_entity_data;
use super::super::state::{Awaiting, AwaitingKind};
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::{RunNode, not_waiting};

impl RunNode for IntentData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.collect_parameters(node, self, 0)
    }

    async fn on_event<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node, awaiting: Awaiting) -> Transition {
        if awaiting.kind == AwaitingKind::Entity { turn.on_parameter_answer(node, self, awaiting).await } else { not_waiting() }
    }

    fn reprompt<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.reprompt_parameter(node, self)
    }
}

impl<'c> Turn<'c> {
    /// Collects the parameters from an index on.
    fn collect_parameters(&mut self, node: &'c Node, data: &'c IntentData, from: usize) -> Transition {
        for parameter in self.parameters_without_node(data).into_iter().skip(from) {
            let (id, slot) = (format!("{}#{}", node.id, parameter.variable), to_entity_data(parameter));
            let graph = self.state.frame().map(|it| it.graph.clone()).unwrap_or_default();
            if !self.record_step(graph, id.clone().into(), parameter.variable.to_string().into(), "entity") {
                return Transition::StepLimit;
            }
            let filled = if parameter.is_prompted() { self.fill_slot(node, &id, &slot) } else { self.fill_without_prompt(&id, &slot) };
            if let Some(next) = filled.into_transition() {
                return next;
            }
            self.record_port(&id, "out");
        }
        Transition::out()
    }

    async fn on_parameter_answer(&mut self, node: &'c Node, data: &'c IntentData, awaiting: Awaiting) -> Transition {
        let Some((at, parameter)) = self.awaited_parameter(data, &awaiting) else {
            return Transition::Fail(Failure::new("not_waiting", "the parameter no longer exists"));
        };
        let id = format!("{}#{}", node.id, parameter.variable);
        let filled = self.on_slot_answer(node, &id, &to_entity_data(parameter), awaiting).await;
        filled.into_transition().unwrap_or_else(|| self.collect_parameters(node, data, at + 1))
    }

    fn reprompt_parameter(&mut self, node: &'c Node, data: &'c IntentData) -> Transition {
        let filled: Vec<String> = self.view().filled_slots_in_graph().into_iter().map(|it| it.variable).collect();
        let is_unset = |parameter: &&IntentParameter| {
            let is_empty = self.state.variable(&parameter.variable).is_none_or(Value::is_null);
            parameter.is_prompted() && is_empty && !filled.contains(&parameter.variable.to_string())
        };
        let Some(parameter) = self.parameters_without_node(data).into_iter().find(is_unset) else { return Transition::out() };
        Transition::Wait(self.prompt_for_slot(node, &format!("{}#{}", node.id, parameter.variable), &to_entity_data(parameter)))
    }

    fn awaited_parameter(&self, data: &'c IntentData, awaiting: &Awaiting) -> Option<(usize, &'c IntentParameter)> {
        let variable = awaiting.variable.as_deref()?;
        self.parameters_without_node(data).into_iter().enumerate().find(|(_, parameter)| parameter.variable.to_string() == variable)
    }

    /// The parameters without an entity node in the graph.
    fn parameters_without_node(&self, data: &IntentData) -> Vec<&'c IntentParameter> {
        let nodes = self.graph().map(|it| it.definition.nodes.as_slice()).unwrap_or_default();
        let has_node = |parameter: &&IntentParameter| {
            nodes.iter().any(|node| matches!(&node.kind, NodeKind::Entity(data) if data.variable == parameter.variable))
        };
        let intent = self.flow.intent(&data.intent_id);
        intent.into_iter().flat_map(|it| &it.parameters).filter(|it| !has_node(it)).collect()
    }
}

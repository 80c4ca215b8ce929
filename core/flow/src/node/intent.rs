//! `intent` nodes: the entry of an intent, which collects its parameters (docs/spec/flows.md#3, #4.2).

use convengine_config::flow::document::{EntityData, IntentData, IntentParameter, Node, NodeKind};
use convengine_config::flow::shape::Absent;
use serde_json::Value;

use super::super::Walker;
use super::super::failure::Failure;
use super::super::walk::Transition;
use super::entity::SlotResult;
use crate::state::Awaiting;

impl<'c> Walker<'c> {
    pub(super) fn run_intent(&mut self, node: &'c Node, data: &'c IntentData) -> Transition {
        self.collect_parameters(node, data, 0)
    }

    /// Collects the parameters from an index on.
    fn collect_parameters(&mut self, node: &'c Node, data: &'c IntentData, from: usize) -> Transition {
        for parameter in self.unprompted_parameters(data).into_iter().skip(from) {
            let (id, slot) = (format!("{}#{}", node.id, parameter.variable), to_entity_data(parameter));
            let graph = self.frame().map(|it| it.graph.clone()).unwrap_or_default();
            if !self.record_step(graph, id.clone().into(), parameter.variable.to_string().into(), "entity") {
                return Transition::EndTurn;
            }
            let filled = if parameter.is_prompted() { self.fill_slot(node, &id, &slot) } else { self.fill_without_prompt(&id, &slot) };
            match filled {
                SlotResult::Filled => self.record_port(&id, "out"),
                SlotResult::Prompted(awaiting) => return Transition::Wait(awaiting),
                SlotResult::Failed(failure) => return Transition::Fail(failure),
                SlotResult::Interrupted(next) => return next,
            }
        }
        Transition::Port("out".to_owned())
    }

    pub(super) async fn on_parameter_answer(&mut self, node: &'c Node, data: &'c IntentData, awaiting: Awaiting) -> Transition {
        let Some((at, parameter)) = self.awaited_parameter(data, &awaiting) else {
            return Transition::Fail(Failure::new("not_waiting", "the parameter no longer exists"));
        };
        let id = format!("{}#{}", node.id, parameter.variable);
        match self.on_slot_answer(node, &id, &to_entity_data(parameter), awaiting).await {
            SlotResult::Filled => self.collect_parameters(node, data, at + 1),
            SlotResult::Prompted(awaiting) => Transition::Wait(awaiting),
            SlotResult::Failed(failure) => Transition::Fail(failure),
            SlotResult::Interrupted(next) => next,
        }
    }

    pub(super) fn reprompt_parameter(&mut self, node: &'c Node, data: &'c IntentData) -> Transition {
        let given_up: Vec<String> = self.filled_in_graph().into_iter().map(|it| it.variable).collect();
        let unset = |it: &&IntentParameter| {
            let is_empty = self.variable(&it.variable).is_none_or(Value::is_null);
            it.is_prompted() && is_empty && !given_up.contains(&it.variable.to_string())
        };
        let Some(parameter) = self.unprompted_parameters(data).into_iter().find(unset) else { return Transition::Port("out".to_owned()) };
        Transition::Wait(self.prompt_for_slot(node, &format!("{}#{}", node.id, parameter.variable), &to_entity_data(parameter)))
    }

    fn awaited_parameter(&self, data: &'c IntentData, awaiting: &Awaiting) -> Option<(usize, &'c IntentParameter)> {
        let variable = awaiting.variable.as_deref()?;
        self.unprompted_parameters(data).into_iter().enumerate().find(|it| it.1.variable.to_string() == variable)
    }

    /// The parameters without an entity node in the graph.
    fn unprompted_parameters(&self, data: &IntentData) -> Vec<&'c IntentParameter> {
        let nodes = self.graph().map(|it| it.definition.nodes.as_slice()).unwrap_or_default();
        let has_node =
            |it: &&IntentParameter| nodes.iter().any(|node| matches!(&node.kind, NodeKind::Entity(data) if data.variable == it.variable));
        let intent = self.flow.intent(&data.intent_id);
        intent.into_iter().flat_map(|it| &it.parameters).filter(|it| !has_node(it)).collect()
    }
}

impl Walker<'_> {
    /// The data of a parameter of an intent.
    pub(crate) fn parameter_data(&self, intent: &str, variable: &str) -> Option<EntityData> {
        let parameters = self.flow.intent(intent).into_iter().flat_map(|it| &it.parameters);
        parameters.into_iter().find(|it| it.variable.to_string() == variable).map(to_entity_data)
    }
}

/// Converts a parameter to the data of an entity node.
fn to_entity_data(parameter: &IntentParameter) -> EntityData {
    EntityData {
        variable: parameter.variable.clone(),
        entity: parameter.entity.clone(),
        prompt: parameter.prompt.clone(),
        reprompt: parameter.reprompt.clone(),
        required: parameter.required,
        keep: parameter.keep,
        take: parameter.take,
        help: parameter.help.clone(),
        ..EntityData::absent()
    }
}

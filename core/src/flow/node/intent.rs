//! `intent` nodes: the entry of an intent, which collects its parameters (docs/spec/flows.md#3, #4.2).

use serde_json::Value;

use super::super::Walk;
use super::super::fail::Failure;
use super::super::walk::Next;
use super::entity::Filled;
use crate::config::flow::document::{Ask, EntityData, EntityForParameter, IntentData, Node, NodeKind};
use crate::flow::state::Awaiting;

/// Maximum invalid answers for a parameter.
const ATTEMPTS: u32 = 3;

impl<'c> Walk<'c> {
    pub(super) fn intent(&mut self, node: &'c Node, data: &'c IntentData) -> Next {
        self.parameters(node, data, 0)
    }

    /// Collects the parameters from an index on.
    fn parameters(&mut self, node: &'c Node, data: &'c IntentData, from: usize) -> Next {
        for parameter in self.open_parameters(data).into_iter().skip(from) {
            let (id, slot) = (format!("{}#{}", node.id, parameter.variable), slot(parameter));
            let graph = self.frame().map(|it| it.graph.clone()).unwrap_or_default();
            if !self.step(graph, id.clone().into(), parameter.variable.to_string().into(), "entity") {
                return Next::Stay;
            }
            let filled = if parameter.asks { self.fill(node, &id, &slot) } else { self.fill_unasked(&id, &slot) };
            match filled {
                Filled::Done => self.note_port(&id, "out"),
                Filled::Asked(awaiting) => return Next::Wait(awaiting),
                Filled::Failed(failure) => return Next::Fail(failure),
                Filled::Elsewhere(next) => return next,
            }
        }
        Next::Port("out".to_owned())
    }

    pub(super) async fn parameter_answered(&mut self, node: &'c Node, data: &'c IntentData, awaiting: Awaiting) -> Next {
        let Some((at, parameter)) = self.awaited(data, &awaiting) else {
            return Next::Fail(Failure::new("not_waiting", "the parameter is not there any more"));
        };
        let id = format!("{}#{}", node.id, parameter.variable);
        match self.answered(node, &id, &slot(parameter), awaiting).await {
            Filled::Done => self.parameters(node, data, at + 1),
            Filled::Asked(awaiting) => Next::Wait(awaiting),
            Filled::Failed(failure) => Next::Fail(failure),
            Filled::Elsewhere(next) => next,
        }
    }

    pub(super) fn parameter_again(&mut self, node: &'c Node, data: &'c IntentData) -> Next {
        let open = self.open_parameters(data);
        let unset = |it: &&EntityForParameter| it.asks && self.variable(&it.variable).is_none_or(Value::is_null);
        let Some(parameter) = open.into_iter().find(unset) else { return Next::Port("out".to_owned()) };
        Next::Wait(self.prompt(node, &format!("{}#{}", node.id, parameter.variable), &slot(parameter)))
    }

    fn awaited(&self, data: &'c IntentData, awaiting: &Awaiting) -> Option<(usize, &'c EntityForParameter)> {
        let variable = awaiting.variable.as_deref()?;
        self.open_parameters(data).into_iter().enumerate().find(|it| it.1.variable.to_string() == variable)
    }

    /// The parameters without an entity node in the graph.
    fn open_parameters(&self, data: &IntentData) -> Vec<&'c EntityForParameter> {
        let nodes = self.graph().map(|it| it.form.nodes.as_slice()).unwrap_or_default();
        let has_node = |it: &&EntityForParameter| {
            nodes.iter().any(|node| matches!(&node.kind, NodeKind::Entity(data) if data.variable == it.variable))
        };
        let intent = self.flow.intent(&data.intent_id);
        intent.into_iter().flat_map(|it| &it.parameters).filter(|it| !has_node(it)).collect()
    }
}

/// Converts a parameter to the data of an entity node.
fn slot(parameter: &EntityForParameter) -> EntityData {
    EntityData {
        variable: parameter.variable.clone(),
        entity: parameter.entity.clone(),
        prompt: parameter.prompt.clone(),
        reprompt: parameter.reprompt.clone(),
        max_attempts: ATTEMPTS,
        required: parameter.required,
        default: Value::Null,
        ask: Ask::IfEmpty,
        prefill_from_trigger: true,
        validation: Vec::new(),
        buttons: Vec::new(),
        llm_extract: false,
        interruptible: true,
        confirm: false,
        redact: false,
        no_input_ms: None,
    }
}

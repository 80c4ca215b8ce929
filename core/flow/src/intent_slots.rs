//! The slots of an intent: its parameters, and the entity nodes of its graph (docs/spec/flows.md#4.4).

use convengine_config::flow::Flow;
use convengine_config::flow::document::{Ask, EntityData, IntentDef, IntentParameter, LocalizedText, Node, NodeKind};
use convengine_config::flow::shape::Absent;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use convengine_understanding::entity::Entity;
use serde_json::json;

use super::view::SessionView;

/// A slot of an intent: a parameter, or an entity node of its graph.
pub(super) struct IntentSlot<'c> {
    pub variable: &'c VariablePath,
    pub entity: &'c str,
    pub prompt: &'c LocalizedText,
    /// The data of its node; `None` for a parameter.
    pub node: Option<&'c EntityData>,
}

impl IntentSlot<'_> {
    /// What tells the type of its values from others: the entity, and how its node takes it.
    pub fn type_key(&self) -> String {
        self.node.map_or_else(|| self.entity.to_owned(), EntityData::type_key)
    }

    /// The type of its values.
    pub fn compile_entity(&self, flow: &Flow) -> Option<Entity> {
        match self.node {
            Some(data) => flow.compile_slot_entity(data),
            None => flow.compile_entity(self.entity),
        }
    }

    /// Whether it takes a value although its variable has one.
    pub fn is_always_asked(&self) -> bool {
        self.node.is_some_and(|it| it.ask == Ask::Always)
    }
}

impl<'c> SessionView<'_, 'c> {
    /// The slots that a model may read from the message: the entity of each variable.
    pub(super) fn hinted_slots(&self, intent: &'c IntentDef) -> Map {
        let slots = self.slots_of_intent(intent);
        let readable = slots.iter().filter(|it| self.is_slot_prefilled(&slots, it.variable));
        readable.map(|slot| (slot.variable.to_string(), json!(slot.entity))).collect()
    }

    /// Redacts the values of a match record.
    pub(super) fn redact_slot_hints(&self, intent: &'c IntentDef, hints: &mut Map) {
        let slots = self.slots_of_intent(intent);
        for (name, value) in hints {
            if slots.iter().any(|slot| slot.variable.to_string() == *name && self.is_intent_slot_redacted(slot)) {
                *value = json!(format!("[{name}]"));
            }
        }
    }

    /// Whether the message that triggers an intent may fill a variable: no slot of it forbids that.
    pub(super) fn is_slot_prefilled(&self, slots: &[IntentSlot<'c>], variable: &VariablePath) -> bool {
        slots.iter().filter(|it| it.variable == variable).all(|slot| match slot.node {
            Some(data) => self.is_prefilled(data),
            None => !self.is_value_redacted(variable, slot.entity),
        })
    }

    /// Whether the document says that a slot takes nothing but an answer to its question. What a redacted slot would read is kept from the
    /// others all the same.
    pub(super) fn takes_only_answers(&self, slot: &IntentSlot<'_>) -> bool {
        slot.node.is_some_and(|it| it.prefill.allowed() == Some(false)) && !self.is_intent_slot_redacted(slot)
    }

    pub(super) fn is_intent_slot_redacted(&self, slot: &IntentSlot<'_>) -> bool {
        slot.node.is_some_and(|it| it.redact) || self.is_value_redacted(slot.variable, slot.entity)
    }

    /// The slots of an intent: its parameters, then the entity nodes of its graph.
    pub(super) fn slots_of_intent(&self, intent: &'c IntentDef) -> Vec<IntentSlot<'c>> {
        self.slots_of(Some(intent), &intent.graph)
    }

    /// The slots of the current frame: the parameters of its intent, then the entity nodes of its graph.
    pub(super) fn slots_of_frame(&self) -> Vec<IntentSlot<'c>> {
        let Some(frame) = self.state.frame() else { return Vec::new() };
        self.slots_of(frame.intent_id.as_ref().and_then(|it| self.flow.intent(it)), &frame.graph)
    }

    fn slots_of(&self, intent: Option<&'c IntentDef>, graph: &str) -> Vec<IntentSlot<'c>> {
        let parameter = |parameter: &'c IntentParameter| IntentSlot {
            variable: &parameter.variable,
            entity: &parameter.entity,
            prompt: &parameter.prompt,
            node: None,
        };
        let nodes = self.flow.graph(graph).map(|it| it.definition.nodes.as_slice()).unwrap_or_default();
        let slot = |node: &'c Node| {
            let NodeKind::Entity(data) = &node.kind else { return None };
            Some(IntentSlot { variable: &data.variable, entity: &data.entity, prompt: &data.prompt, node: Some(data) })
        };
        let parameters = intent.into_iter().flat_map(|it| &it.parameters);
        parameters.map(parameter).chain(nodes.iter().filter_map(slot)).collect()
    }

    /// The data of a parameter of an intent.
    pub(super) fn parameter_data(&self, intent: &str, variable: &str) -> Option<EntityData> {
        let parameters = self.flow.intent(intent).into_iter().flat_map(|it| &it.parameters);
        parameters.into_iter().find(|parameter| parameter.variable.to_string() == variable).map(to_entity_data)
    }
}

/// Converts a parameter to the data of an entity node.
pub(super) fn to_entity_data(parameter: &IntentParameter) -> EntityData {
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

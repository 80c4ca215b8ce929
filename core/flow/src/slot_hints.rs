//! Values of slots that a model reads from the message that triggers an intent (docs/spec/flows.md#4.4).

use convengine_config::flow::document::{Ask, EntityData, IntentDef, IntentParameter, LocalizedText, Node, NodeKind};
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use convengine_understanding::entity::Entity;
use serde_json::{Value, json};

use super::Walker;

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
    pub fn compile_entity(&self, walker: &Walker<'_>) -> Option<Entity> {
        match self.node {
            Some(data) => walker.flow.compile_slot_entity(data),
            None => walker.flow.compile_entity(self.entity),
        }
    }

    /// Whether it takes a value although its variable has one.
    pub fn is_always_asked(&self) -> bool {
        self.node.is_some_and(|it| it.ask == Ask::Always)
    }
}

impl<'c> Walker<'c> {
    /// The slots that a model may read from the message: the entity of each variable.
    pub(super) fn hinted_slots(&self, intent: &'c IntentDef) -> Map {
        let slots = slots_of_intent(self, intent);
        let may_be_read = slots.iter().filter(|it| self.is_slot_prefilled(&slots, it.variable));
        may_be_read.map(|it| (it.variable.to_string(), json!(it.entity))).collect()
    }

    /// Redacts the values of a match record.
    pub(super) fn redact_slot_hints(&self, intent: &'c IntentDef, hints: &mut Map) {
        let slots = slots_of_intent(self, intent);
        for (name, value) in hints {
            if slots.iter().any(|it| it.variable.to_string() == *name && self.is_intent_slot_redacted(it)) {
                *value = json!(format!("[{name}]"));
            }
        }
    }

    /// Writes the values that are valid for their slots. A redacted one is redacted, but not written.
    pub(super) fn write_slot_hints(&mut self, intent: &'c IntentDef, hints: &Value) {
        let Some(hints) = hints.as_object() else { return };
        let slots = slots_of_intent(self, intent);
        for slot in &slots {
            let given = hints.get(&slot.variable.to_string()).filter(|it| !it.is_null());
            let kind = slot.compile_entity(self);
            let Some(value) = given.zip(kind).and_then(|(it, kind)| kind.accept(it, self.extraction_context())) else { continue };
            if self.is_slot_prefilled(&slots, slot.variable) {
                let nodes = slots.iter().filter(|it| it.variable == slot.variable).filter_map(|it| it.node);
                if nodes.into_iter().all(|it| self.find_violation(it, &value).is_none()) {
                    // The slot asks for a value of the wrong type.
                    if self.write_variable(slot.variable, value).is_ok() {
                        self.note_filled(slot.variable, "");
                    }
                }
            } else if self.is_intent_slot_redacted(slot) {
                self.redact_input_with(slot.variable, Some(&value));
            }
        }
    }

    /// Whether the message that triggers an intent may fill a variable: no slot of it forbids that.
    pub(super) fn is_slot_prefilled(&self, slots: &[IntentSlot<'c>], variable: &VariablePath) -> bool {
        slots.iter().filter(|it| it.variable == variable).all(|it| match it.node {
            Some(data) => self.is_prefilled(data),
            None => !self.is_value_redacted(variable, it.entity),
        })
    }

    pub(super) fn is_intent_slot_redacted(&self, slot: &IntentSlot<'_>) -> bool {
        slot.node.is_some_and(|it| it.redact) || self.is_value_redacted(slot.variable, slot.entity)
    }
}

/// The slots of an intent: its parameters, then the entity nodes of its graph.
pub(super) fn slots_of_intent<'c>(walker: &Walker<'c>, intent: &'c IntentDef) -> Vec<IntentSlot<'c>> {
    slots_of(walker, Some(intent), &intent.graph)
}

/// The slots of the current frame: the parameters of its intent, then the entity nodes of its graph.
pub(super) fn slots_of_frame<'c>(walker: &Walker<'c>) -> Vec<IntentSlot<'c>> {
    let Some(frame) = walker.frame() else { return Vec::new() };
    slots_of(walker, frame.intent_id.as_ref().and_then(|it| walker.flow.intent(it)), &frame.graph)
}

fn slots_of<'c>(walker: &Walker<'c>, intent: Option<&'c IntentDef>, graph: &str) -> Vec<IntentSlot<'c>> {
    let parameter = |it: &'c IntentParameter| IntentSlot { variable: &it.variable, entity: &it.entity, prompt: &it.prompt, node: None };
    let nodes = walker.flow.graph(graph).map(|it| it.definition.nodes.as_slice()).unwrap_or_default();
    let slot = |it: &'c Node| {
        let NodeKind::Entity(data) = &it.kind else { return None };
        Some(IntentSlot { variable: &data.variable, entity: &data.entity, prompt: &data.prompt, node: Some(data) })
    };
    let parameters = intent.into_iter().flat_map(|it| &it.parameters);
    parameters.map(parameter).chain(nodes.iter().filter_map(slot)).collect()
}

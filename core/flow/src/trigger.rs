//! The message that triggered an intent, while its values are given to the slots of the intent (docs/spec/flows.md#4.4).
//!
//! What no slot has taken when the turn ends is kept for the slots that are reached later ([`PendingValues`]).

use std::ops::Range;

use convengine_config::flow::document::EntityData;
use convengine_understanding::entity::{Entity, Extraction};
use serde_json::Value;

use super::slot_reading::CATCH_ALL_ENTITIES;
use super::slot_values::{IntentTrigger, SlotValue, SlotValues, TriggerValue, unused_parts};
use super::state::{FrameKind, PendingValue, PendingValues};
use super::turn::Turn;

/// Maximum values of a message that are kept for later.
const MAX_PENDING_VALUES: usize = 16;

/// Maximum messages of which values are kept for later.
const MAX_PENDING_MESSAGES: usize = 4;

impl Turn<'_> {
    /// Lets the slots to come take what an answer holds beside the value that was asked for; those at `filled` places keep theirs.
    pub(super) fn offer_answer(&mut self, text: &str, values: SlotValues, filled: Vec<String>) {
        let depth = self.state.stack.iter().rposition(|it| it.kind != FrameKind::Subflow).unwrap_or_default();
        self.trigger = Some(IntentTrigger { text: text.to_owned(), depth, prefilled_slots: filled, entered_slots: Vec::new(), values });
    }

    /// Whether a slot may look into the message that triggered the intent: once for each slot of its frame.
    pub(super) fn take_trigger(&mut self, place: &str, data: &EntityData) -> bool {
        let Some(trigger) = self.trigger.as_mut() else { return false };
        if trigger.prefilled_slots.iter().any(|it| it == place) || self.state.stack.len() <= trigger.depth {
            return false;
        }
        trigger.prefilled_slots.push(place.to_owned());
        trigger.entered_slots.push(data.variable.to_string());
        true
    }

    /// Keeps other slots from taking a value.
    pub(super) fn claim_trigger_value(&mut self, found: &TriggerValue) {
        if let Some((trigger, range)) = self.trigger.as_mut().zip(found.range.clone()) {
            trigger.values.taken.push(range);
        }
    }

    /// The parts of the message that triggered the intent that hold no value of its slots, if the turn is explained.
    pub(super) fn unused_trigger_parts(&self) -> Option<Value> {
        self.open_explanation.as_ref()?;
        let trigger = self.trigger.as_ref()?;
        let values = trigger.values.types.iter().flat_map(|it| &it.found).map(|it| it.range.clone());
        let used: Vec<Range<usize>> = values.chain(trigger.values.taken.iter().cloned()).collect();
        Some(unused_parts(&trigger.text, &used))
    }

    /// Redacts the values that the message that triggered the intent holds for a slot.
    pub(super) fn redact_trigger_values(&mut self, data: &EntityData, entity: &Entity) {
        let Some(trigger) = self.trigger.as_ref() else { return };
        let own = trigger.values.slot(&data.variable, &data.type_key()).and_then(|it| it.own_value.clone());
        let first = match entity.extract(&trigger.text, self.extraction_context()) {
            Extraction::Value(value) if !CATCH_ALL_ENTITIES.contains(&data.entity.as_str()) => Some(value),
            Extraction::Value(_) | Extraction::NotFound | Extraction::Ambiguous(_) => None,
        };
        for value in first.iter().chain(own.iter().filter(|value| Some(*value) != first.as_ref())) {
            self.redact_input_with(&data.variable, Some(value));
        }
    }

    /// Takes the value that an earlier message of the request holds for a slot.
    pub(super) fn take_pending_value(&mut self, data: &EntityData) -> Option<TriggerValue> {
        let (request, key, variable) = (self.state.current_request(), data.type_key(), data.variable.to_string());
        let mut pending = self.state.pending_values.iter_mut().rev().filter(|it| it.request == request);
        let found = pending.find_map(|message| {
            let is_for_slot = |value: &PendingValue| value.entity == key && value.variable.as_ref().is_none_or(|it| *it == variable);
            let named = message.values.iter().position(|value| is_for_slot(value) && value.variable.is_some());
            let at = named.or_else(|| message.values.iter().position(is_for_slot))?;
            Some(message.values.remove(at))
        })?;
        self.state.pending_values.retain(|it| !it.values.is_empty());
        let value = if found.is_half_open { self.choose_half(data, found.value) } else { found.value };
        Some(TriggerValue { value, range: None, source: "earlier_message", is_named: true })
    }

    /// Stores what the message of this turn holds for slots that were not reached.
    pub(super) fn store_pending_values(&mut self) {
        let requests: Vec<u32> = self.state.stack.iter().map(|it| it.request).collect();
        let is_waiting = self.state.awaiting.is_some();
        self.state.pending_values.retain(|pending| is_waiting && requests.contains(&pending.request));
        let Some(trigger) = self.trigger.take().filter(|trigger| is_waiting && self.state.stack.len() > trigger.depth) else { return };
        let request = self.state.current_request();
        let slots = self.view().slots_of_frame();
        let is_open = |value: &&SlotValue| {
            let is_new = !trigger.entered_slots.contains(&value.variable.to_string());
            is_new && slots.iter().any(|it| *it.variable == value.variable) && self.view().is_slot_prefilled(&slots, &value.variable)
        };
        let open: Vec<&SlotValue> = trigger.values.slots.iter().filter(is_open).collect();
        let to_pending = |variable: Option<String>, entity: &str, value: Value| {
            let is_half_open = self.view().is_half_open(entity, &trigger.text, &value);
            PendingValue { variable, entity: entity.to_owned(), value, is_half_open }
        };
        let own_values = open.iter().filter_map(|slot| {
            let value = slot.own_value.clone().filter(|it| !it.is_null())?;
            Some(to_pending(Some(slot.variable.to_string()), &slot.entity, value))
        });
        let free_values = trigger.values.types.iter().flat_map(|kind| {
            let places = open.iter().filter(|slot| slot.own_value.is_none() && slot.entity == kind.entity).count();
            let found = trigger.values.free_values(&kind.found);
            // Of "Thursday or Friday" no slot takes one.
            let count = if found.len() > places { 0 } else { found.len() };
            found.into_iter().take(count).map(|value| to_pending(None, &kind.entity, value.clone())).collect::<Vec<PendingValue>>()
        });
        let values: Vec<PendingValue> = own_values.chain(free_values).take(MAX_PENDING_VALUES).collect();
        if !values.is_empty() {
            self.state.pending_values.push(PendingValues { request, values });
            let excess = self.state.pending_values.len().saturating_sub(MAX_PENDING_MESSAGES);
            self.state.pending_values.drain(..excess);
        }
    }
}

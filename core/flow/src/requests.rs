//! Begins and leaves what a session serves: its welcome, and requests, which are intents that were begun.

use convengine_config::flow::document::{IntentDef, ProgramKind};
use convengine_values::restate_number;
use serde_json::{Value, json};

use super::intent_match::IntentMatch;
use super::slot_values::{IntentTrigger, MARK, SlotValues};
use super::state::{FrameKind, Resume};
use super::turn::Turn;

impl<'c> Turn<'c> {
    /// Says the welcome of the document, whose graph runs before the root goes on.
    pub(super) fn push_welcome(&mut self) {
        let welcome = &self.flow.document.events.welcome;
        if !welcome.enabled {
            return;
        }
        self.publish_match_record(&self.start_search(), None, "welcome", 1.0, json!({}));
        if let Some(message) = &welcome.message {
            self.send_localized(message, "events.welcome");
        }
        if let Some(graph) = &welcome.graph {
            self.state.resume_with(Some(Resume::After));
            if !self.push_graph(graph, FrameKind::Event) {
                self.state.resume_with(None);
            }
        }
    }

    /// Enters the graph of a matched intent.
    pub(super) fn begin_intent(&mut self, hit: &IntentMatch<'c>) -> bool {
        let is_entered = self.enter_intent(hit);
        if is_entered {
            self.state.counters.fallbacks = 0;
        }
        is_entered
    }

    /// Enters the graph of an intent, matched or fallback.
    pub(super) fn enter_intent(&mut self, hit: &IntentMatch<'c>) -> bool {
        let message = hit.message.clone().unwrap_or_else(|| self.event.input_text());
        let restated = restate_number(&message, &self.state.locale);
        let last = json!({"id": hit.intent.id, "confidence": hit.confidence, "source": hit.source, "text": message});
        if !self.push_intent(&hit.intent.id, &hit.intent.graph) {
            return false;
        }
        let depth = self.state.depth().saturating_sub(1);
        self.state.vars.insert("_last_intent".to_owned(), last);
        self.write_slot_hints(hit.intent, &hit.slots);
        let message = restated.unwrap_or(message);
        let values = self.view().find_slot_values(hit, &message);
        self.redact_marked_values(hit.intent, &values);
        self.trigger = Some(IntentTrigger { text: message, depth, prefilled_slots: Vec::new(), entered_slots: Vec::new(), values });
        true
    }

    /// Writes the values that are valid for their slots. A redacted one is redacted, but not written.
    fn write_slot_hints(&mut self, intent: &'c IntentDef, hints: &Value) {
        let Some(hints) = hints.as_object() else { return };
        let slots = self.view().slots_of_intent(intent);
        for slot in &slots {
            let hint = hints.get(&slot.variable.to_string()).filter(|it| !it.is_null());
            let entity = slot.compile_entity(self.flow);
            let Some(value) = hint.zip(entity).and_then(|(hint, entity)| entity.accept(hint, self.extraction_context())) else { continue };
            if self.view().is_slot_prefilled(&slots, slot.variable) {
                let nodes = slots.iter().filter(|it| it.variable == slot.variable).filter_map(|it| it.node);
                if nodes.into_iter().all(|data| self.find_violation(data, &value).is_none()) {
                    // The slot asks for a value of the wrong type.
                    if self.write_variable(slot.variable, value).is_ok() {
                        self.record_filled_slot(slot.variable, "");
                    }
                }
            } else if self.view().is_intent_slot_redacted(slot) {
                self.redact_input_with(slot.variable, Some(&value));
            }
        }
    }

    /// Redacts the values of marks that have to be. A mark leaves no doubt, so that its value does not wait for its slot.
    fn redact_marked_values(&mut self, intent: &'c IntentDef, values: &SlotValues) {
        let slots = self.view().slots_of_intent(intent);
        for slot in values.slots.iter().filter(|it| it.source == MARK) {
            if slots.iter().any(|intent_slot| *intent_slot.variable == slot.variable && self.view().is_intent_slot_redacted(intent_slot)) {
                self.redact_input_with(&slot.variable, slot.own_value.as_ref());
            }
        }
    }

    /// Drops the frames of the innermost intent or event. Returns whether it was the root that waited.
    pub(super) fn leave_request(&mut self) -> bool {
        self.state.awaiting = None;
        self.state.vars.shift_remove("_slot");
        self.state.counters.attempts.clear();
        let Some(at) = self.state.stack.iter().rposition(|frame| matches!(frame.kind, FrameKind::Intent | FrameKind::Event)) else {
            self.reset_to_root();
            // A root that asks itself begins again with the next message.
            if self.flow.kind == ProgramKind::Assistant && !self.flow.document.intents.iter().any(|it| it.enabled) {
                self.rewind_root();
                if let Some(root) = self.state.stack.first_mut() {
                    root.resume = Some(Resume::After);
                }
            }
            return true;
        };
        self.state.stack.truncate(at);
        self.update_active_intent();
        false
    }

    /// Puts the root at its entry.
    pub(super) fn rewind_root(&mut self) {
        let entry = self.flow.graph(&self.flow.document.root).map(|it| it.definition.entry.clone());
        if let (Some(root), Some(entry)) = (self.state.stack.first_mut(), entry) {
            root.node = entry;
        }
    }
}

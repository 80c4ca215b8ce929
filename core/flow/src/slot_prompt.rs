//! Asks for slots, and writes what was answered (docs/spec/flows.md#4.4).

use convengine_config::flow::document::{EntityData, FlowTemplate, LocalizedText, Node, ValueTemplate};
use convengine_text::locale::EngineText;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::failure::Failure;
use super::state::{Awaiting, AwaitingKind};
use super::transition::{SlotDecision, SlotReason, SlotResult};
use super::turn::Turn;
use super::view::format_value;

/// The variable with a value that the user has to confirm.
pub(super) const CANDIDATE_VARIABLE: &str = "_slot";

impl<'c> Turn<'c> {
    /// Prompts for the value.
    pub(super) fn prompt_for_slot(&mut self, node: &'c Node, id: &str, data: &EntityData) -> Awaiting {
        self.is_rewalking = false;
        self.state.vars.shift_remove(CANDIDATE_VARIABLE);
        let place = self.state.node_key(id);
        let options = self.ask_for_value(&data.prompt, data, &place);
        self.trace("entity.prompt", json!({"node": id, "variable": data.variable.to_string()}));
        self.slot_awaiting(node, data, options)
    }

    /// Asks for a value: with a question of the document, or in the words of the engine when that is empty.
    fn ask_for_value(&mut self, question: &LocalizedText, data: &EntityData, place: &str) -> Vec<Value> {
        let before = self.record.messages.len();
        let options = self.send_question(question, &data.buttons, place);
        if self.record.messages.len() > before {
            return options;
        }
        let name = data.variable.to_string().replace(['.', '_'], " ");
        let text = self.engine_text(EngineText::AskForValue, &[("name", &name)]);
        self.send_question(&literal_text(text), &data.buttons, place)
    }

    fn slot_awaiting(&self, node: &Node, data: &EntityData, options: Vec<Value>) -> Awaiting {
        let (entity, variable) = (Some(data.entity.clone()), Some(data.variable.to_string()));
        Awaiting { entity, variable, ..Awaiting::new(AwaitingKind::Entity, &node.id, options, self.effects.now()) }
    }

    /// Asks whether a value is right.
    pub(super) fn ask_for_confirmation(&mut self, node: &'c Node, data: &EntityData, candidate: Value) -> SlotResult {
        self.is_rewalking = false;
        let shown = format_value(&self.view().name_value(Some(&data.entity), &candidate));
        self.state.vars.insert(CANDIDATE_VARIABLE.to_owned(), json!({"variable": data.variable.to_string(), "candidate": candidate}));
        let buttons = [("yes", EngineText::Yes), ("no", EngineText::No)]
            .map(|(id, label)| json!({"id": id, "label": self.engine_text(label, &[]), "value": id == "yes"}));
        let text = self.engine_text(EngineText::ConfirmValue, &[("value", &shown)]);
        let options = self.send_with_options(&text, &buttons);
        if self.view().is_slot_redacted(data) {
            self.redact_question(&data.variable, &shown);
        }
        SlotResult::Prompted(self.slot_awaiting(node, data, options))
    }

    /// Handles an invalid answer: reprompts, or gives up at the maximum number of attempts.
    pub(super) fn reject_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, message: Option<&LocalizedText>) -> SlotDecision {
        let place = self.state.node_key(id);
        let attempts = self.state.counters.attempts.entry(place.clone()).or_default();
        *attempts += 1;
        let attempts = *attempts;
        let reason = SlotReason::InvalidAnswer(attempts);
        self.trace("entity.invalid", json!({"node": id, "variable": data.variable.to_string(), "attempt": attempts}));
        if self.view().is_slot_redacted(data) {
            self.redact_input(&data.variable);
        }
        if attempts >= data.max_attempts {
            self.state.counters.attempts.remove(&place);
            if data.required {
                let failure = Failure::new("max_attempts", format!("no valid answer in {attempts} attempts"));
                let failed_node = Some((id.to_owned(), node.name.clone()));
                return SlotDecision::new(SlotResult::Failed(Failure { attempt: attempts, node: failed_node, ..failure }), reason);
            }
            return SlotDecision::new(self.skip_slot(id, data), reason);
        }
        let last = data.reprompt.len().min(usize::try_from(attempts).unwrap_or(usize::MAX));
        let question = message.or_else(|| data.reprompt.get(last.checked_sub(1)?)).unwrap_or(&data.prompt);
        // The document says nothing else the second time.
        if attempts > 1 && message.is_none() && data.reprompt.is_empty() && self.flow.document.repair.no_understanding {
            self.say(EngineText::NotUnderstoodAgain, &[]);
        }
        let options = self.ask_for_value(question, data, &place);
        SlotDecision::new(SlotResult::Prompted(self.slot_awaiting(node, data, options)), reason)
    }

    /// Writes the default of an optional slot, which is not asked for any more.
    pub(super) fn skip_slot(&mut self, id: &str, data: &EntityData) -> SlotResult {
        let default = self.render_json(&ValueTemplate::from(data.default.clone()), Map::new());
        match self.write_variable(&data.variable, default) {
            Ok(()) => {
                let place = self.state.node_key(id);
                self.record_filled_slot(&data.variable, &place);
                self.state.counters.attempts.remove(&place);
                SlotResult::Filled
            }
            Err(rejected) => SlotResult::Failed(rejected.into()),
        }
    }

    /// Writes the value of a slot.
    pub(super) fn write_slot(&mut self, id: &str, data: &EntityData, value: Value, reason: SlotReason) -> SlotDecision {
        let observed = self.observe_value(data, &value);
        // What was asked behind a value that was taken back has been answered.
        self.is_rewalking |= self.view().is_emptied(&data.variable);
        if let Err(rejected) = self.write_variable(&data.variable, value) {
            return SlotDecision { value: observed, ..SlotResult::Failed(rejected.into()).into() };
        }
        let place = self.state.node_key(id);
        self.record_filled_slot(&data.variable, &place);
        if data.entity == "@time" {
            self.state.afternoon = None;
        }
        self.state.counters.attempts.remove(&place);
        self.state.counters.fallbacks = 0;
        self.trace("entity.filled", json!({"node": id, "variable": data.variable.to_string()}));
        if self.view().is_slot_redacted(data) {
            self.redact_input(&data.variable);
        }
        SlotDecision { result: SlotResult::Filled, reason, value: observed }
    }
}

/// A text without placeholders.
pub(super) fn literal_text(text: String) -> LocalizedText {
    // Braces in a value are not placeholders.
    let source = text.replace("{{", "\\{{");
    LocalizedText { variants_by_key: vec![("default".to_owned(), vec![FlowTemplate::from(source)])] }
}

//! `entity` nodes: fill a slot by prompting for its value (docs/spec/flows.md#4.4).

use convengine_values::{Consent, read_consent};
use serde_json::{Value, json};

use super::super::Walker;
use super::super::failure::Failure;
use super::super::matching::Interrupt;
use super::super::walk::Transition;
use super::validation::violated_bound;
use crate::config::flow::document::{Ask, EntityData, FlowTemplate, LocalizedText, Node, NodeKind, ValueTemplate};
use crate::entity::{Entity, Extraction, ExtractionContext};
use crate::flow::state::{Awaiting, AwaitingKind, FlowEvent};
use crate::locale::EngineText;
use crate::turn::{Candidate, Map, Verdict};
use crate::value::EXPRESSION;

/// The result of filling a slot.
#[derive(Debug)]
pub(in crate::flow) enum SlotResult {
    /// The slot has a value.
    Filled,
    /// The user has been prompted.
    Prompted(Awaiting),
    /// The slot could not be filled.
    Failed(Failure),
    /// The question was interrupted.
    Interrupted(Transition),
}

/// The variable with a value that the user has to confirm.
const CANDIDATE_VARIABLE: &str = "_slot";

impl<'c> Walker<'c> {
    pub(super) fn run_entity(&mut self, node: &'c Node, data: &'c EntityData) -> Transition {
        let id = node.id.clone();
        let filled = self.fill_slot(node, &id, data);
        self.slot_transition(filled)
    }

    pub(super) async fn on_entity_answer(&mut self, node: &'c Node, data: &'c EntityData, awaiting: Awaiting) -> Transition {
        let id = node.id.clone();
        let filled = self.on_slot_answer(node, &id, data, awaiting).await;
        self.slot_transition(filled)
    }

    pub(super) fn reprompt_entity(&mut self, node: &'c Node, data: &'c EntityData) -> Transition {
        Transition::Wait(self.prompt_for_slot(node, &node.id, data))
    }

    fn slot_transition(&mut self, filled: SlotResult) -> Transition {
        match filled {
            SlotResult::Filled => Transition::Port("out".to_owned()),
            SlotResult::Prompted(awaiting) => Transition::Wait(awaiting),
            SlotResult::Failed(failure) => Transition::Fail(failure),
            SlotResult::Interrupted(next) => next,
        }
    }

    /// Fills a slot: keeps a valid value, prefills it from the message that triggered the intent, or prompts.
    pub(super) fn fill_slot(&mut self, node: &'c Node, id: &str, data: &EntityData) -> SlotResult {
        self.try_fill(id, data).unwrap_or_else(|| {
            let place = self.slot_key(id);
            self.state.counters.attempts.remove(&place);
            SlotResult::Prompted(self.prompt_for_slot(node, id, data))
        })
    }

    /// Fills a slot without prompting; it is unchanged when no value is found.
    pub(super) fn fill_without_prompt(&mut self, id: &str, data: &EntityData) -> SlotResult {
        self.try_fill(id, data).unwrap_or(SlotResult::Filled)
    }

    /// Fills a slot from its valid value or from the message that triggered the intent.
    fn try_fill(&mut self, id: &str, data: &EntityData) -> Option<SlotResult> {
        self.begin_slot(id, data);
        let filled = self.try_fill_unasked(id, data);
        self.end_unasked_slot(filled.as_ref());
        filled
    }

    fn try_fill_unasked(&mut self, id: &str, data: &EntityData) -> Option<SlotResult> {
        let Some(entity) = self.flow.compile_slot_entity(data) else {
            return Some(SlotResult::Failed(Failure::new("entity_unknown", format!("there is no entity '{}'", data.entity))));
        };
        let place = self.slot_key(id);
        if data.ask == Ask::IfEmpty
            && let Some(value) = self.variable(&data.variable).filter(|it| !it.is_null()).cloned()
            && let Some(value) = entity.accept(&value, self.extraction_context())
            && self.find_violation(data, &value).is_none()
        {
            self.note_slot_value(data, &value, "its variable has a valid value already: nothing is asked");
            self.trace("entity.skipped", json!({"node": id, "variable": data.variable.to_string()}));
            return Some(SlotResult::Filled);
        }
        if !self.take_trigger(&place) {
            return None;
        }
        if !self.is_prefilled(data) {
            self.note_verdict(|_| "the message that triggered the intent may not fill it: the user is asked".to_owned());
            // The value is not taken, but the message holds what is not to be stored.
            if self.is_slot_redacted(data) {
                self.redact_trigger_values(data, &entity);
            }
            return None;
        }
        let found = self.trigger_value(data, &entity)?;
        let unused = self.unused_in_trigger();
        self.note(|| found.to_candidate(&data.entity, unused));
        if self.find_violation(data, &found.value).is_some() {
            return None;
        }
        self.note_slot_value(data, &found.value, "the value is taken from the message that triggered the intent");
        self.claim_trigger_value(&found);
        self.trace("entity.prefilled", json!({"node": id, "variable": data.variable.to_string()}));
        Some(self.write_slot(id, data, found.value))
    }

    /// Prompts for the value.
    pub(super) fn prompt_for_slot(&mut self, node: &'c Node, id: &str, data: &EntityData) -> Awaiting {
        self.state.vars.shift_remove(CANDIDATE_VARIABLE);
        let place = self.slot_key(id);
        let before = self.record.messages.len();
        let mut options = self.send_question(&data.prompt, &data.buttons, &place);
        if self.record.messages.len() == before {
            let name = data.variable.to_string().replace(['.', '_'], " ");
            options = self.ask_for_value(&name, data, &place);
        }
        self.trace("entity.prompt", json!({"node": id, "variable": data.variable.to_string()}));
        self.slot_awaiting(node, data, options)
    }

    /// Asks for a value whose prompt is empty.
    fn ask_for_value(&mut self, name: &str, data: &EntityData, place: &str) -> Vec<Value> {
        let text = self.engine_text(EngineText::AskForValue, &[("name", name)]);
        self.send_question(&literal_text(text), &data.buttons, place)
    }

    fn slot_awaiting(&self, node: &Node, data: &EntityData, options: Vec<Value>) -> Awaiting {
        let (entity, variable) = (Some(data.entity.clone()), Some(data.variable.to_string()));
        Awaiting { entity, variable, ..self.new_awaiting(AwaitingKind::Entity, node, options) }
    }

    /// Handles the answer to a prompt.
    pub(super) async fn on_slot_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting) -> SlotResult {
        self.begin_slot(id, data);
        let filled = self.read_slot_answer(node, id, data, awaiting).await;
        self.end_slot(&filled);
        filled
    }

    async fn read_slot_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting) -> SlotResult {
        let Some(entity) = self.flow.compile_slot_entity(data) else {
            return SlotResult::Failed(Failure::new("entity_unknown", format!("there is no entity '{}'", data.entity)));
        };
        if let Some(candidate) = self.state.vars.shift_remove(CANDIDATE_VARIABLE).and_then(|it| it.get("candidate").cloned()) {
            return self.on_confirmation(node, id, data, awaiting, candidate).await;
        }
        let found = match self.find_slot_option(&awaiting.options, &entity) {
            Some(option) => {
                self.set_button_event(&option);
                let value = option.get("value").or_else(|| option.get("label")).cloned().unwrap_or_default();
                let value = entity.accept(&value, self.extraction_context());
                let (verdict, reason) = match &value {
                    Some(_) => (Verdict::Won, ""),
                    None => (Verdict::NotMatched, "its value is none of the entity"),
                };
                self.note(|| Candidate::for_choice("", "button", verdict).with_reason(reason));
                Ok(value)
            }
            None => match entity.extract(&self.input_text(), self.extraction_context()) {
                Extraction::Value(value) => Ok(Some(value)),
                Extraction::NotFound => Ok(None),
                Extraction::Ambiguous(values) => Err(values),
            },
        };
        self.note_extraction(data, &entity, &found);
        match found {
            Ok(Some(value)) => self.validate_candidate(node, id, data, value),
            Err(values) => {
                self.trace("entity.ambiguous", json!({"node": id, "values": values}));
                let names: Vec<String> = values.iter().map(|it| format_value(&self.name_value(Some(&data.entity), &json!(it)))).collect();
                let text = self.engine_text(EngineText::ChooseValue, &[("values", &names.join(" / "))]);
                self.reject_answer(node, id, data, Some(&literal_text(text)))
            }
            Ok(None) => self.handle_missing_value(node, id, data, awaiting, &entity).await,
        }
    }

    /// Handles an answer without a value: a model may extract one, or another intent may interrupt.
    async fn handle_missing_value(
        &mut self,
        node: &'c Node,
        id: &str,
        data: &EntityData,
        awaiting: Awaiting,
        entity: &Entity,
    ) -> SlotResult {
        if data.llm_extract {
            let value = self.extract_by_model(data, entity).await;
            self.note(|| Candidate::for_choice("", "model", if value.is_some() { Verdict::Won } else { Verdict::NotMatched }));
            if let Some(value) = value {
                return self.validate_candidate(node, id, data, value);
            }
        }
        if data.interruptible {
            self.state.awaiting = Some(awaiting);
            match self.try_interrupt().await {
                Interrupt::IntentPushed => return SlotResult::Interrupted(Transition::GraphPushed),
                Interrupt::SmallTalk => {
                    self.state.awaiting = None;
                    return SlotResult::Prompted(self.prompt_for_slot(node, id, data));
                }
                Interrupt::SessionEnded => return SlotResult::Interrupted(Transition::EndTurn),
                Interrupt::NotInterrupted => self.state.awaiting = None,
            }
        }
        self.reject_answer(node, id, data, None)
    }

    /// Validates a value, and confirms it when required.
    fn validate_candidate(&mut self, node: &'c Node, id: &str, data: &EntityData, value: Value) -> SlotResult {
        if let Some(message) = self.find_violation(data, &value) {
            return self.reject_answer(node, id, data, message.as_ref());
        }
        let verdict = if data.confirm { "the value is valid: the user is asked whether it is right" } else { "the value is accepted" };
        self.note_slot_value(data, &value, verdict);
        if !data.confirm {
            return self.write_slot(id, data, value);
        }
        self.ask_for_confirmation(node, data, value)
    }

    /// Handles the answer to a confirmation.
    async fn on_confirmation(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting, candidate: Value) -> SlotResult {
        let pressed = self.find_selected_option(&awaiting.options).and_then(|it| it.get("value").and_then(Value::as_bool));
        let pressed = pressed.map(|it| if it { Consent::Yes } else { Consent::No });
        match pressed.or_else(|| read_consent(&self.input_text(), &self.state.locale)) {
            Some(Consent::Yes) => {
                self.note_slot_value(data, &candidate, "the user has confirmed the value");
                return self.write_slot(id, data, candidate);
            }
            Some(Consent::No) => return self.reject_answer(node, id, data, None),
            Some(consent @ (Consent::YesBut | Consent::NoBut)) => {
                // `yes, but to savings` and `no, 30 dollars` change a value, and the user is asked again.
                self.note_verdict(|_| "the user changes a value: it is taken, and the user is asked again".to_owned());
                let changed = self.read_change(data, &candidate);
                let has_others = self.read_other_changes(data);
                return match changed {
                    Some(changed) => self.validate_candidate(node, id, data, changed),
                    None if has_others || consent == Consent::YesBut => self.ask_for_confirmation(node, data, candidate),
                    None => self.reject_answer(node, id, data, None),
                };
            }
            None => {}
        }
        if data.interruptible {
            self.state.awaiting = Some(awaiting);
            match self.try_interrupt().await {
                Interrupt::IntentPushed => return SlotResult::Interrupted(Transition::GraphPushed),
                Interrupt::SessionEnded => return SlotResult::Interrupted(Transition::EndTurn),
                Interrupt::SmallTalk => return self.ask_for_confirmation(node, data, candidate),
                Interrupt::NotInterrupted => self.state.awaiting = None,
            }
        }
        self.note_verdict(|_| "the answer is neither yes nor no: the user is asked again".to_owned());
        self.ask_for_confirmation(node, data, candidate)
    }

    /// The other value that a message has for a slot.
    fn read_change(&self, data: &EntityData, candidate: &Value) -> Option<Value> {
        let entity = self.flow.compile_slot_entity(data).filter(|_| !reads_any_text(&data.entity))?;
        let found = entity.find_all(&self.input_text(), self.extraction_context());
        found.into_iter().filter_map(|it| it.value).find(|it| it != candidate)
    }

    /// Writes the values that a message has for other slots of the graph, or says why not; returns whether there are any. A type that two
    /// slots have says nothing about either.
    fn read_other_changes(&mut self, data: &EntityData) -> bool {
        let Some(graph) = self.graph() else { return false };
        let mut has_changes = false;
        let slot_of = |node: &'c Node| if let NodeKind::Entity(data) = &node.kind { Some(&**data) } else { None };
        let slots: Vec<&'c EntityData> = graph.definition.nodes.iter().filter_map(slot_of).collect();
        let text = self.input_text();
        for slot in &slots {
            let is_alone = slots.iter().filter(|it| it.entity == slot.entity).count() == 1;
            if slot.variable == data.variable || slot.entity == data.entity || !is_alone || reads_any_text(&slot.entity) {
                continue;
            }
            let Some(entity) = self.flow.compile_slot_entity(slot) else { continue };
            let found = entity.find_all(&text, self.extraction_context());
            let Some(value) = found.into_iter().find_map(|it| it.value) else { continue };
            has_changes = true;
            if let Some(message) = self.find_violation(slot, &value) {
                if let Some(message) = message {
                    self.send_question(&message, &[], "");
                }
            } else {
                // A value of another type than the variable's is left out.
                let _ = self.write_variable(&slot.variable, value);
            }
            if self.is_slot_redacted(slot) {
                self.redact_input(&slot.variable);
            }
        }
        has_changes
    }

    fn ask_for_confirmation(&mut self, node: &'c Node, data: &EntityData, candidate: Value) -> SlotResult {
        let shown = format_value(&self.name_value(Some(&data.entity), &candidate));
        self.state.vars.insert(CANDIDATE_VARIABLE.to_owned(), json!({"variable": data.variable.to_string(), "candidate": candidate}));
        let yes_no = [("yes", EngineText::Yes), ("no", EngineText::No)]
            .map(|(id, label)| json!({"id": id, "label": self.engine_text(label, &[]), "value": id == "yes"}));
        let text = self.engine_text(EngineText::ConfirmValue, &[("value", &shown)]);
        let options = self.send_with_options(&text, &yes_no);
        if self.is_slot_redacted(data) {
            self.redact_question(&data.variable, &shown);
        }
        SlotResult::Prompted(self.slot_awaiting(node, data, options))
    }

    /// Writes the value of a slot.
    fn write_slot(&mut self, id: &str, data: &EntityData, value: Value) -> SlotResult {
        if let Err(reason) = self.write_variable(&data.variable, value) {
            self.note_verdict(|_| String::new());
            return SlotResult::Failed(Failure::new("type_mismatch", reason.0));
        }
        let place = self.slot_key(id);
        self.state.counters.attempts.remove(&place);
        self.state.counters.fallbacks = 0;
        self.trace("entity.filled", json!({"node": id, "variable": data.variable.to_string()}));
        if self.is_slot_redacted(data) {
            self.redact_input(&data.variable);
        }
        SlotResult::Filled
    }

    /// Handles an invalid answer: reprompts, or gives up at the maximum number of attempts.
    fn reject_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, message: Option<&LocalizedText>) -> SlotResult {
        let place = self.slot_key(id);
        let attempts = self.state.counters.attempts.entry(place.clone()).or_default();
        *attempts += 1;
        let attempts = *attempts;
        self.note_attempt(data, attempts);
        self.trace("entity.invalid", json!({"node": id, "variable": data.variable.to_string(), "attempt": attempts}));
        if self.is_slot_redacted(data) {
            self.redact_input(&data.variable);
        }
        if attempts >= data.max_attempts {
            self.state.counters.attempts.remove(&place);
            if data.required {
                let reason = format!("no valid answer in {attempts} attempts");
                let at = Some((id.to_owned(), node.name.clone()));
                return SlotResult::Failed(Failure { attempt: attempts, node: at, ..Failure::new("max_attempts", reason) });
            }
            let default = self.render_json(&ValueTemplate::from(data.default.clone()), Map::new());
            return match self.write_variable(&data.variable, default) {
                Ok(()) => SlotResult::Filled,
                Err(reason) => SlotResult::Failed(Failure::new("type_mismatch", reason.0)),
            };
        }
        let last = data.reprompt.len().min(usize::try_from(attempts).unwrap_or(usize::MAX));
        let again = message.or_else(|| data.reprompt.get(last.checked_sub(1)?)).unwrap_or(&data.prompt);
        let before = self.record.messages.len();
        let mut options = self.send_question(again, &data.buttons, &place);
        if self.record.messages.len() == before {
            options = self.ask_for_value(&data.variable.to_string(), data, &place);
        }
        SlotResult::Prompted(self.slot_awaiting(node, data, options))
    }

    /// Returns the message of the first rule that a value violates; the inner `None` is a rule without a message.
    pub(in crate::flow) fn find_violation(&mut self, data: &EntityData, value: &Value) -> Option<Option<LocalizedText>> {
        for rule in &data.validation {
            let extra = Map::from_iter([("value".to_owned(), value.clone())]);
            let bound = violated_bound(rule, value);
            let is_violated = bound.is_some() || rule.expr.as_ref().is_some_and(|it| !self.is_condition_true(it, extra));
            self.note(|| rule.to_candidate(is_violated, bound));
            if is_violated {
                return Some(rule.message.clone());
            }
        }
        None
    }

    /// Whether the message that triggered the intent may fill the slot: it may not give a value that is redacted, or one that only an answer
    /// to the question may give.
    pub(in crate::flow) fn is_prefilled(&self, data: &EntityData) -> bool {
        data.prefill != Some(false) && data.interruptible && !self.is_slot_redacted(data)
    }

    pub(in crate::flow) fn is_slot_redacted(&self, data: &EntityData) -> bool {
        data.redact || self.is_value_redacted(&data.variable, &data.entity)
    }

    pub(in crate::flow) fn extraction_context(&self) -> ExtractionContext<'_> {
        ExtractionContext {
            locale: &self.state.locale,
            now: self.effects.now(),
            time_zone: &self.state.time_zone,
            parses: Some(&self.parses),
        }
    }

    pub(in crate::flow) fn slot_key(&self, id: &str) -> String {
        format!("{}/{id}", self.frame().map_or("", |it| &it.graph))
    }

    /// The text of the event; of a button, its value, else its label, else its id.
    pub(in crate::flow) fn input_text(&self) -> String {
        match &self.event {
            FlowEvent::Message { text, .. } => text.clone(),
            FlowEvent::Button { button_id, value, label, .. } => {
                let value = value.as_ref().and_then(Value::as_str).map(str::to_owned);
                value.or_else(|| label.clone()).unwrap_or_else(|| button_id.clone())
            }
            FlowEvent::Start { .. }
            | FlowEvent::Timer { .. }
            | FlowEvent::Approval { .. }
            | FlowEvent::HandoffStatus { .. }
            | FlowEvent::HandoffMessage { .. }
            | FlowEvent::End { .. } => String::new(),
        }
    }

    /// Whether a slot may look into the message that triggered the intent: once for each slot of its frame.
    fn take_trigger(&mut self, place: &str) -> bool {
        let Some(trigger) = self.trigger.as_mut() else { return false };
        if trigger.prefilled_slots.iter().any(|it| it == place) || self.state.stack.len() <= trigger.depth {
            return false;
        }
        trigger.prefilled_slots.push(place.to_owned());
        true
    }
}

/// Whether a type takes every text, so that no text says that it is meant.
fn reads_any_text(entity: &str) -> bool {
    matches!(entity, "@string" | "@list" | "@boolean")
}

/// Formats a value for the user.
fn format_value(value: &Value) -> String {
    let text = |it: &str| value.get(it).map(|it| EXPRESSION.print(it));
    match (value, text("amount").zip(text("currency"))) {
        (Value::Object(_), Some((amount, currency))) => format!("{amount} {currency}"),
        (Value::Array(items), _) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        _ => EXPRESSION.print(value).into_owned(),
    }
}

fn literal_text(text: String) -> LocalizedText {
    // Braces in a value are not placeholders.
    let source = text.replace("{{", "\\{{");
    LocalizedText { variants_by_key: vec![("default".to_owned(), vec![FlowTemplate::from(source)])] }
}

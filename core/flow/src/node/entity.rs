//! `entity` nodes: fill a slot by prompting for its value (docs/spec/flows.md#4.4).

use convengine_config::flow::document::{Ask, EntityData, Node, NodeKind, Take};
use convengine_text::locale::{EngineText, asks_for_free_words};
use convengine_text::phrase::Phrase;
use convengine_turn::{Candidate, Verdict};
use convengine_understanding::entity::{Entity, Extraction};
use convengine_values::{Command, Consent, is_inquiry, is_part_denied, is_question, read_consent, read_correction};
use serde_json::{Value, json};

use super::super::corrections::Corrected;
use super::super::failure::Failure;
use super::super::matching::Interrupt;
use super::super::slot_changes::ExpectedChange;
use super::super::slot_prompt::{CANDIDATE_VARIABLE, literal_text};
use super::super::slot_reading::{reads_any_text, takes_free_text};
use super::super::slot_values::TriggerValue;
use super::super::state::Awaiting;
use super::super::transition::{SlotResult, Transition};
use super::super::turn::Turn;
use super::super::view::{SessionView, format_value};
use super::RunNode;

/// From how many words on a message without a value may be about something else.
const MIN_DIGRESSION_WORDS: usize = 3;

impl RunNode for EntityData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.fill_slot(node, &node.id, self).into_transition().unwrap_or_else(Transition::out)
    }

    async fn on_event<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node, awaiting: Awaiting) -> Transition {
        turn.on_slot_answer(node, &node.id, self, awaiting).await.into_transition().unwrap_or_else(Transition::out)
    }

    fn reprompt<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        Transition::Wait(turn.prompt_for_slot(node, &node.id, self))
    }
}

impl<'c> Turn<'c> {
    /// Fills a slot: keeps a valid value, prefills it from the message that triggered the intent, or prompts.
    pub(super) fn fill_slot(&mut self, node: &'c Node, id: &str, data: &EntityData) -> SlotResult {
        self.try_fill(Some(node), id, data).unwrap_or_else(|| {
            let place = self.state.node_key(id);
            self.state.counters.attempts.remove(&place);
            SlotResult::Prompted(self.prompt_for_slot(node, id, data))
        })
    }

    /// Fills a slot without prompting; it is unchanged when no value is found.
    pub(super) fn fill_without_prompt(&mut self, id: &str, data: &EntityData) -> SlotResult {
        self.try_fill(None, id, data).unwrap_or(SlotResult::Filled)
    }

    /// Fills a slot from its valid value or from the message that triggered the intent. `node` is the one that may ask.
    fn try_fill(&mut self, node: Option<&'c Node>, id: &str, data: &EntityData) -> Option<SlotResult> {
        self.begin_slot(id, data);
        let filled = self.try_fill_unasked(node, id, data);
        self.end_unasked_slot(filled.as_ref());
        filled
    }

    fn try_fill_unasked(&mut self, node: Option<&'c Node>, id: &str, data: &EntityData) -> Option<SlotResult> {
        let Some(entity) = self.flow.compile_slot_entity(data) else {
            return Some(SlotResult::Failed(Failure::new("entity_unknown", format!("unknown entity '{}'", data.entity))));
        };
        if self.view().is_left_over(data) {
            // A reserved name is no slot.
            let _ = self.remove_variable(&data.variable);
        }
        let place = self.state.node_key(id);
        let kept = self.kept_value(data, &entity, &place);
        if let Some(found) = self.find_spoken_value(id, data, &entity, kept.as_ref()) {
            self.note_slot_value(data, &found.value, "the value is taken from the message that triggered the intent");
            self.claim_trigger_value(&found);
            self.trace("entity.prefilled", json!({"node": id, "variable": data.variable.to_string()}));
            if let Some(node) = node.filter(|_| data.confirm) {
                self.state.counters.attempts.remove(&self.state.node_key(id));
                return Some(self.ask_for_confirmation(node, data, found.value));
            }
            return Some(self.write_slot(id, data, found.value));
        }
        let value = kept?;
        self.note_slot_value(data, &value, "its variable has a valid value already: nothing is asked");
        if self.state.variable(&data.variable) != Some(&value) {
            // In the form of its type. A value of another type than the variable's stays as it is.
            let _ = self.write_variable(&data.variable, value);
        }
        if self.view().is_of_other_request(&data.variable) {
            // It is kept, and may be corrected now.
            self.note_filled(&data.variable, &place);
        }
        self.note_reached(&data.variable, &place);
        self.trace("entity.skipped", json!({"node": id, "variable": data.variable.to_string()}));
        Some(SlotResult::Filled)
    }

    /// The valid value that the variable of a slot has, unless the slot asks anyway.
    fn kept_value(&mut self, data: &EntityData, entity: &Entity, place: &str) -> Option<Value> {
        let is_answered = self.is_rewalking && self.view().filled_in_graph().iter().any(|it| it.place == place);
        if data.ask == Ask::Always && !is_answered {
            return None;
        }
        let value = self.state.variable(&data.variable).cloned().unwrap_or_default();
        if value.is_null() {
            // An optional value that was left out is not asked for again.
            return Some(value).filter(|_| is_answered && !data.required);
        }
        let value = entity.accept(&value, self.extraction_context())?;
        self.find_violation(data, &value).is_none().then_some(value)
    }

    /// The valid value that what was said in this request holds for a slot: instead of the one that it has only if the slot is meant.
    fn find_spoken_value(&mut self, id: &str, data: &EntityData, entity: &Entity, kept: Option<&Value>) -> Option<TriggerValue> {
        let is_new = self.take_trigger(&self.state.node_key(id), data);
        // What was taken back is asked for.
        if self.view().is_emptied(&data.variable) {
            return None;
        }
        // What an earlier request has left gives way to what this one was told.
        let is_kept = kept.is_some() && !(data.keep && self.view().is_of_other_request(&data.variable));
        if !is_new && is_kept {
            return None;
        }
        if is_new && !self.view().is_prefilled(data) {
            if kept.is_none() {
                self.note_verdict(|_| "the message that triggered the intent may not fill it: the user is asked".to_owned());
            }
            // The value is not taken, but the message holds what is not to be stored.
            if self.view().is_slot_redacted(data) {
                self.redact_trigger_values(data, entity);
            }
            return None;
        }
        let trigger = self.trigger.as_ref().filter(|_| is_new);
        let of_message = trigger.and_then(|it| it.value_for(self.view(), data, entity));
        // What a model has read of the same message stays.
        let is_read = self.state.filled_slots.iter().any(|it| it.place.is_empty() && it.variable == data.variable.to_string());
        let of_message = of_message.filter(|it| kept.is_none_or(|kept| it.is_named && !is_read && *kept != it.value));
        let found = match of_message {
            Some(found) => found,
            None if is_kept || !self.view().is_prefilled(data) => return None,
            None => self.take_pending_value(data)?,
        };
        let unused = self.unused_in_trigger();
        self.note(|| found.to_candidate(&data.entity, unused));
        if self.find_violation(data, &found.value).is_none() {
            return Some(found);
        }
        // It was said for this slot, so it is none of another.
        self.claim_trigger_value(&found);
        None
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
            return SlotResult::Failed(Failure::new("entity_unknown", format!("unknown entity '{}'", data.entity)));
        };
        if let Some(candidate) = self.state.vars.shift_remove(CANDIDATE_VARIABLE).and_then(|it| it.get("candidate").cloned()) {
            return self.on_confirmation(node, id, data, awaiting, candidate).await;
        }
        let option = self.view().find_slot_option(&awaiting.options, &entity);
        if option.is_none()
            && let Some(diverted) = self.divert_answer(node, id, data, &entity, &awaiting).await
        {
            return diverted;
        }
        let found = match option {
            Some(option) => {
                self.event.choose_option(&option);
                let value = option.get("value").or_else(|| option.get("label")).cloned().unwrap_or_default();
                let value = entity.accept(&value, self.extraction_context());
                let (verdict, reason) = match &value {
                    Some(_) => (Verdict::Won, ""),
                    None => (Verdict::NotMatched, "its value is none of the entity"),
                };
                self.note(|| Candidate::for_choice("", "button", verdict).with_reason(reason));
                Ok(value)
            }
            None => self.read_typed_answer(data, &entity),
        };
        self.note_extraction(data, &entity, &found);
        match found {
            Ok(Some(value)) => self.validate_candidate(node, id, data, value),
            Err(values) => {
                self.trace("entity.ambiguous", json!({"node": id, "values": values}));
                let names: Vec<String> = values.iter().map(|it| format_value(&self.view().name_value(Some(&data.entity), it))).collect();
                let text = self.engine_text(EngineText::ChooseValue, &[("values", &names.join(" / "))]);
                let rejected = self.reject_answer(node, id, data, Some(&literal_text(text)));
                if let SlotResult::Prompted(mut awaiting) = rejected {
                    if awaiting.options.is_empty() {
                        // "The second one"
                        let option = |it: (&String, &Value)| json!({"id": it.0, "label": it.0, "value": it.1});
                        awaiting.options = names.iter().zip(&values).map(option).collect();
                    }
                    SlotResult::Prompted(awaiting)
                } else {
                    rejected
                }
            }
            Ok(None) => self.handle_missing_value(node, id, data, awaiting, &entity).await,
        }
    }

    /// Handles a message that is no answer although a value might be read from it: a command, something else in place of a free text, a
    /// correction of another slot.
    async fn divert_answer(
        &mut self,
        node: &'c Node,
        id: &str,
        data: &EntityData,
        entity: &Entity,
        awaiting: &Awaiting,
    ) -> Option<SlotResult> {
        let text = self.event.input_text();
        let is_free_text = takes_free_text(data, entity);
        let has_no_value = || matches!(entity.extract(&text, self.extraction_context()), Extraction::NotFound);
        // "Never mind" leaves, also where it could be a no.
        let is_obeyed = |it: &Command| is_free_text || data.entity == "@boolean" && *it == Command::Cancel || has_no_value();
        let command =
            self.view().read_command().filter(is_obeyed).or_else(|| self.view().refuses_active_intent().then_some(Command::Cancel));
        if let Some(command) = command {
            if data.take == Take::Anything {
                return None;
            }
            if let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting.clone(), false).await {
                return Some(interrupted);
            }
            return Some(self.obey_in_slot(node, id, data, None, command));
        }
        if data.take == Take::Anything {
            return None;
        }
        if is_free_text {
            let is_question = is_question(&text, &self.state.locale) && !self.view().expects_question(data);
            if (is_question || self.view().is_plainly_something_else())
                && let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting.clone(), is_question).await
            {
                return Some(interrupted);
            }
            if is_question {
                self.note_verdict(|_| "the message is a question, and the slot expects none".to_owned());
                if !self.state.counters.attempts.contains_key(&self.state.node_key(id)) {
                    self.say(EngineText::NotUnderstood, &[]);
                }
                return Some(self.reject_answer(node, id, data, None));
            }
        }
        let is_yes_or_no = data.entity == "@boolean";
        let has_value = || !is_yes_or_no || matches!(read_consent(&text, &self.state.locale), Some(Consent::Yes | Consent::No));
        let expected = if is_yes_or_no && !has_value() { ExpectedChange::Everything } else { ExpectedChange::Nothing };
        match self.correct_slots(Some(data), expected) {
            Corrected::Nothing => None,
            Corrected::Refused => Some(SlotResult::Prompted(self.prompt_for_slot(node, id, data))),
            Corrected::Changed(next) => {
                self.note_verdict(|_| "the message corrects another slot".to_owned());
                Some(SlotResult::Interrupted(next))
            }
        }
    }

    /// Lets an intent, small talk or, with `by_words`, the knowledge base interrupt the question of a slot.
    async fn interrupt_slot(
        &mut self,
        node: &'c Node,
        id: &str,
        data: &EntityData,
        awaiting: Awaiting,
        by_words: bool,
    ) -> Option<SlotResult> {
        if !data.interruptible {
            return None;
        }
        match self.try_interrupt(awaiting, by_words).await {
            Interrupt::Taken(next) => Some(SlotResult::Interrupted(next)),
            Interrupt::Answered => {
                self.state.awaiting = None;
                Some(SlotResult::Prompted(self.prompt_for_slot(node, id, data)))
            }
            Interrupt::Nothing => None,
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
        let is_digression = is_question(&self.event.input_text(), &self.state.locale) || self.view().has_many_words();
        if let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting, is_digression).await {
            return interrupted;
        }
        match self.correct_slots(Some(data), ExpectedChange::Unmistakable) {
            Corrected::Nothing => {}
            Corrected::Refused => return SlotResult::Prompted(self.prompt_for_slot(node, id, data)),
            Corrected::Changed(next) => return SlotResult::Interrupted(next),
        }
        // "Thursday at 3" to another question is kept for those to come.
        let text = self.view().restated_input();
        let values = self.view().find_answer_values(&text);
        if values.has_any() && !is_inquiry(&text, &self.state.locale) {
            self.offer_answer(&text, values, Vec::new());
            return SlotResult::Prompted(self.prompt_for_slot(node, id, data));
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
        let pressed = self.view().find_selected_option(&awaiting.options).and_then(|it| it.get("value").and_then(Value::as_bool));
        let pressed = pressed.map(|it| if it { Consent::Yes } else { Consent::No });
        if let Some(command) = self.view().read_command().filter(|_| pressed.is_none()) {
            return self.obey_in_slot(node, id, data, Some(candidate), command);
        }
        match pressed.or_else(|| read_consent(&self.event.input_text(), &self.state.locale)) {
            Some(Consent::Yes) => {
                self.note_slot_value(data, &candidate, "the user has confirmed the value");
                return self.write_slot(id, data, candidate);
            }
            Some(Consent::No) => return self.reject_answer(node, id, data, None),
            Some(consent @ (Consent::YesBut | Consent::NoBut)) => {
                // `yes, but to savings` and `no, 30 dollars` change a value, and the user is asked again.
                self.note_verdict(|_| "the user changes a value: it is taken, and the user is asked again".to_owned());
                let changed = self.view().read_change(data, &candidate);
                let has_others = self.read_other_changes(data);
                return match changed {
                    Some(changed) => self.validate_candidate(node, id, data, changed),
                    None if has_others || consent == Consent::YesBut => self.ask_for_confirmation(node, data, candidate),
                    None => self.reject_answer(node, id, data, None),
                };
            }
            None => {}
        }
        // "I meant 5", "not Chicago, Boston"
        if let Some(changed) = self.view().read_change(data, &candidate).filter(|_| self.view().is_correction(data)) {
            self.read_other_changes(data);
            return self.validate_candidate(node, id, data, changed);
        }
        if data.interruptible {
            match self.try_interrupt(awaiting, true).await {
                Interrupt::Taken(next) => return SlotResult::Interrupted(next),
                Interrupt::Answered => return self.ask_for_confirmation(node, data, candidate),
                Interrupt::Nothing => {}
            }
        }
        self.note_verdict(|_| "the answer is neither yes nor no: the user is asked again".to_owned());
        self.ask_for_confirmation(node, data, candidate)
    }

    /// Writes the values that a message has for other slots of the graph, or says why not; returns whether there are any. A type that two
    /// slots have says nothing about either.
    fn read_other_changes(&mut self, data: &EntityData) -> bool {
        let Some(graph) = self.graph() else { return false };
        let mut has_changes = false;
        let slot_of = |node: &'c Node| if let NodeKind::Entity(data) = &node.kind { Some(&**data) } else { None };
        let slots: Vec<&'c EntityData> = graph.definition.nodes.iter().filter_map(slot_of).collect();
        let values = self.view().find_answer_values(&self.event.input_text());
        for slot in &slots {
            let is_alone = slots.iter().filter(|it| it.entity == slot.entity).count() == 1;
            if slot.variable == data.variable || reads_any_text(&slot.entity) {
                continue;
            }
            let has_type_alone = is_alone && slot.entity != data.entity;
            let by_type = || if has_type_alone { values.only_free(slot).and_then(|it| it.value.clone()) } else { None };
            let Some(value) = values.named(slot).cloned().or_else(by_type) else { continue };
            has_changes = true;
            if let Some(message) = self.find_violation(slot, &value) {
                if let Some(message) = message {
                    self.send_question(&message, &[], "");
                }
            } else {
                // A value of another type than the variable's is left out.
                if self.write_variable(&slot.variable, value).is_ok() {
                    self.note_filled(&slot.variable, "");
                }
            }
            if self.view().is_slot_redacted(slot) {
                self.redact_input(&slot.variable);
            }
        }
        has_changes
    }
}

impl SessionView<'_, '_> {
    /// Whether the question of a slot asks for something that may be a question itself: its name or its prompt says so.
    fn expects_question(&self, data: &EntityData) -> bool {
        let (locale, own) = (&self.state.locale, &self.flow.document.default_locale);
        let has_word = |text: &str, locale: &str| Phrase::without_accents(text).tokens().iter().any(|it| asks_for_free_words(it, locale));
        let mut prompts = data.prompt.variants_of_locale(&self.state.channel, locale).iter();
        let name = data.variable.to_string().replace(['.', '_'], " ");
        prompts.any(|it| has_word(&it.source, locale)) || has_word(&name, own) || has_word(&name, "en")
    }

    /// The other value that a message has for a slot: one that words name for it, else the only one that they name for no other.
    fn read_change(&self, data: &EntityData, candidate: &Value) -> Option<Value> {
        self.flow.compile_slot_entity(data).filter(|_| !reads_any_text(&data.entity))?;
        let values = self.find_answer_values(&self.restated_input());
        let value = values.named(data).or_else(|| values.only_free(data).and_then(|it| it.value.as_ref()))?;
        Some(value.clone()).filter(|it| it != candidate)
    }

    /// Whether the message says that it replaces something, or is nothing but a value.
    fn is_correction(&self, data: &EntityData) -> bool {
        let text = self.event.input_text();
        let denies = |data: &EntityData| {
            let found = self.flow.compile_slot_entity(data).map(|it| it.find_all(&text, self.extraction_context())).unwrap_or_default();
            found.iter().any(|it| is_part_denied(&text, &it.range, &self.state.locale))
        };
        denies(data)
            || read_correction(&text, &self.state.locale).is_some()
            || !is_question(&text, &self.state.locale) && !self.has_many_words()
    }

    fn has_many_words(&self) -> bool {
        Phrase::without_accents(&self.event.input_text()).tokens().len() >= MIN_DIGRESSION_WORDS
    }
}

//! `entity` nodes: fill a slot by prompting for its value (docs/spec/flows.md#4.4).

use convengine_config::flow::document::{Ask, EntityData, Node, NodeKind, Take};
use convengine_text::locale::{EngineText, asks_for_free_words};
use convengine_text::phrase::Phrase;
use convengine_understanding::entity::{Entity, Extraction};
use convengine_values::{Command, Consent, is_ignorance, is_inquiry, is_part_denied, is_question, read_consent, read_correction};
use serde_json::{Value, json};

use super::super::corrections::CorrectionResult;
use super::super::failure::Failure;
use super::super::matching::Interrupt;
use super::super::slot_changes::ExpectedChange;
use super::super::slot_prompt::{CANDIDATE_VARIABLE, literal_text};
use super::super::slot_reading::{CATCH_ALL_ENTITIES, reads_any_text, takes_free_text};
use super::super::slot_values::TriggerValue;
use super::super::state::Awaiting;
use super::super::transition::{SlotDecision, SlotReason, SlotResult, Transition, UnfilledReason};
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
        let decision = self.try_fill_unasked(node, id, data);
        self.end_unasked_slot(data, &decision);
        decision.ok().map(|it| it.result)
    }

    fn try_fill_unasked(&mut self, node: Option<&'c Node>, id: &str, data: &EntityData) -> Result<SlotDecision, UnfilledReason> {
        let Some(entity) = self.flow.compile_slot_entity(data) else { return Ok(unknown_entity(data).into()) };
        if self.view().is_left_over(data) {
            // A reserved name is no slot.
            let _ = self.remove_variable(&data.variable);
        }
        let place = self.state.node_key(id);
        let existing = self.existing_value(data, &entity, &place);
        let value = match self.find_message_value(id, data, &entity, existing.as_ref()) {
            Ok(found) => {
                self.claim_trigger_value(&found);
                self.trace("entity.prefilled", json!({"node": id, "variable": data.variable.to_string()}));
                let Some(node) = node.filter(|_| data.confirm) else {
                    return Ok(self.write_slot(id, data, found.value, SlotReason::FromMessage));
                };
                self.state.counters.attempts.remove(&self.state.node_key(id));
                return Ok(self.confirm_value(node, data, found.value, SlotReason::FromMessage));
            }
            Err(reason) => existing.ok_or(reason)?,
        };
        let observed = self.observe_value(data, &value);
        if self.state.variable(&data.variable) != Some(&value) {
            // In the form of its type. A value of another type than the variable's stays as it is.
            let _ = self.write_variable(&data.variable, value);
        }
        if self.view().is_filled_by_other_request(&data.variable) {
            // It is kept, and may be corrected now.
            self.record_filled_slot(&data.variable, &place);
        }
        self.record_slot_place(&data.variable, &place);
        self.trace("entity.skipped", json!({"node": id, "variable": data.variable.to_string()}));
        Ok(SlotDecision { result: SlotResult::Filled, reason: SlotReason::AlreadyFilled, value: observed })
    }

    /// The valid value that the variable of a slot has, unless the slot asks anyway.
    fn existing_value(&mut self, data: &EntityData, entity: &Entity, place: &str) -> Option<Value> {
        let is_answered = self.is_rewalking && self.view().filled_slots_in_graph().iter().any(|it| it.place == place);
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
    fn find_message_value(
        &mut self,
        id: &str,
        data: &EntityData,
        entity: &Entity,
        existing: Option<&Value>,
    ) -> Result<TriggerValue, UnfilledReason> {
        let is_new = self.take_trigger(&self.state.node_key(id), data);
        // What was taken back is asked for.
        if self.view().is_emptied(&data.variable) {
            return Err(UnfilledReason::NoValue);
        }
        // What an earlier request has left gives way to what this one was told.
        let has_value = existing.is_some() && !(data.keep && self.view().is_filled_by_other_request(&data.variable));
        if !is_new && has_value {
            return Err(UnfilledReason::NoValue);
        }
        if is_new && !self.view().is_prefilled(data) {
            // The value is not taken, but the message holds what is not to be stored.
            if self.view().is_slot_redacted(data) {
                self.redact_trigger_values(data, entity);
            }
            return Err(UnfilledReason::PrefillForbidden);
        }
        let trigger = self.trigger.as_ref().filter(|_| is_new);
        let from_message = trigger.and_then(|trigger| trigger.value_for(self.view(), data, entity));
        // What a model has read of the same message stays.
        let is_read = self.state.filled_slots.iter().any(|slot| slot.place.is_empty() && slot.variable == data.variable.to_string());
        let from_message =
            from_message.filter(|found| existing.is_none_or(|existing| found.is_named && !is_read && *existing != found.value));
        let text = trigger.map(|it| it.text.clone()).unwrap_or_default();
        let found = match from_message {
            Some(found) => TriggerValue { value: self.fit_half_of_day(data, &text, found.value), ..found },
            None if has_value || !self.view().is_prefilled(data) => return Err(UnfilledReason::NoValue),
            None => self.take_pending_value(data).ok_or(UnfilledReason::NoValue)?,
        };
        let unused = self.unused_trigger_parts();
        self.note(|| found.to_candidate(&data.entity, unused));
        if self.find_violation(data, &found.value).is_none() {
            return Ok(found);
        }
        // It was said for this slot, so it is none of another.
        self.claim_trigger_value(&found);
        Err(UnfilledReason::NoValue)
    }

    /// Handles the answer to a prompt.
    pub(super) async fn on_slot_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting) -> SlotResult {
        self.begin_slot(id, data);
        let decision = self.read_slot_answer(node, id, data, awaiting).await;
        self.end_slot(data, &decision);
        decision.result
    }

    async fn read_slot_answer(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting) -> SlotDecision {
        let Some(entity) = self.flow.compile_slot_entity(data) else { return unknown_entity(data).into() };
        if let Some(candidate) = self.state.vars.shift_remove(CANDIDATE_VARIABLE).and_then(|slot| slot.get("candidate").cloned()) {
            return self.on_confirmation(node, id, data, awaiting, candidate).await;
        }
        let option = self.view().find_slot_option(&awaiting.options, &entity);
        let is_typed = option.is_none();
        if option.is_none()
            && let Some(decision) = self.divert_answer(node, id, data, &entity, &awaiting).await
        {
            return decision;
        }
        let found = match option {
            Some(option) => {
                self.event.choose_option(&option);
                let value = option.get("value").or_else(|| option.get("label")).cloned().unwrap_or_default();
                let value = entity.accept(&value, self.extraction_context());
                self.note_button(value.is_some());
                Ok(value)
            }
            None => self.read_typed_answer(data, &entity),
        };
        self.note_extraction(data, &entity, &found);
        match found {
            Ok(Some(value)) => {
                let value = if is_typed { self.fit_typed_time(data, value) } else { value };
                self.validate_candidate(node, id, data, value)
            }
            Err(values) => {
                self.trace("entity.ambiguous", json!({"node": id, "values": values}));
                let names: Vec<String> =
                    values.iter().map(|value| format_value(&self.view().name_value(Some(&data.entity), value))).collect();
                let text = self.engine_text(EngineText::ChooseValue, &[("values", &names.join(" / "))]);
                let mut decision = self.reject_answer(node, id, data, Some(&literal_text(text)));
                if let SlotResult::Prompted(awaiting) = &mut decision.result
                    && awaiting.options.is_empty()
                {
                    // "The second one"
                    let option = |(name, value): (&String, &Value)| json!({"id": name, "label": name, "value": value});
                    awaiting.options = names.iter().zip(&values).map(option).collect();
                }
                decision
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
    ) -> Option<SlotDecision> {
        let text = self.event.input_text();
        let is_free_text = takes_free_text(data, entity);
        let has_no_value = || matches!(entity.extract(&text, self.extraction_context()), Extraction::NotFound);
        // "Never mind" leaves, also where it could be a no.
        let takes_precedence =
            |command: &Command| is_free_text || data.entity == "@boolean" && *command == Command::Cancel || has_no_value();
        let command =
            self.view().read_command().filter(takes_precedence).or_else(|| self.view().refuses_active_intent().then_some(Command::Cancel));
        if let Some(command) = command {
            if data.take == Take::Anything {
                return None;
            }
            if let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting.clone(), false).await {
                return Some(interrupted.into());
            }
            return Some(SlotDecision::new(self.handle_command_in_slot(node, id, data, None, command), SlotReason::Command(command)));
        }
        if data.take == Take::Anything {
            return None;
        }
        if is_free_text {
            let is_question = is_question(&text, &self.state.locale) && !self.view().expects_question(data);
            if (is_question || self.view().is_other_intent_or_small_talk())
                && let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting.clone(), is_question).await
            {
                return Some(interrupted.into());
            }
            if is_question {
                if !self.state.counters.attempts.contains_key(&self.state.node_key(id)) {
                    self.say(EngineText::NotUnderstood, &[]);
                }
                return Some(self.reject_answer(node, id, data, None));
            }
            // "No idea" must not become a name.
            if CATCH_ALL_ENTITIES.contains(&data.entity.as_str()) && is_ignorance(&text, &self.state.locale) {
                return Some(self.reject_answer(node, id, data, None));
            }
        }
        let is_yes_or_no = data.entity == "@boolean";
        let has_value = || !is_yes_or_no || matches!(read_consent(&text, &self.state.locale), Some(Consent::Yes | Consent::No));
        let expected = if is_yes_or_no && !has_value() { ExpectedChange::Everything } else { ExpectedChange::Nothing };
        match self.correct_slots(Some(data), expected) {
            CorrectionResult::Nothing => None,
            CorrectionResult::Refused => Some(SlotResult::Prompted(self.prompt_for_slot(node, id, data)).into()),
            CorrectionResult::Changed(next) => Some(SlotDecision::new(SlotResult::Interrupted(next), SlotReason::CorrectsOther)),
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
    ) -> SlotDecision {
        if data.llm_extract {
            let value = self.extract_by_model(data, entity).await;
            self.note_model_extraction(value.is_some());
            if let Some(value) = value {
                return self.validate_candidate(node, id, data, value);
            }
        }
        let is_digression = is_question(&self.event.input_text(), &self.state.locale) || self.view().has_many_words();
        if let Some(interrupted) = self.interrupt_slot(node, id, data, awaiting, is_digression).await {
            return interrupted.into();
        }
        match self.correct_slots(Some(data), ExpectedChange::Unmistakable) {
            CorrectionResult::Nothing => {}
            CorrectionResult::Refused => return SlotResult::Prompted(self.prompt_for_slot(node, id, data)).into(),
            CorrectionResult::Changed(next) => return SlotResult::Interrupted(next).into(),
        }
        // "Thursday at 3" to another question is kept for those to come.
        let text = self.view().restated_input();
        let values = self.view().find_answer_values(Some(data), &text);
        if self.view().has_values_to_keep(data, &values) && !is_inquiry(&text, &self.state.locale) {
            self.offer_answer(&text, values, Vec::new());
            return SlotResult::Prompted(self.prompt_for_slot(node, id, data)).into();
        }
        self.reject_answer(node, id, data, None)
    }

    /// A value of the message, if it is a time in the half of the day that its slot allows.
    fn fit_typed_time(&mut self, data: &EntityData, value: Value) -> Value {
        let text = self.view().restated_input();
        self.fit_half_of_day(data, &text, value)
    }

    /// Validates a value, and confirms it when required.
    fn validate_candidate(&mut self, node: &'c Node, id: &str, data: &EntityData, value: Value) -> SlotDecision {
        if let Some(message) = self.find_violation(data, &value) {
            return self.reject_answer(node, id, data, message.as_ref());
        }
        if !data.confirm {
            return self.write_slot(id, data, value, SlotReason::Result);
        }
        self.confirm_value(node, data, value, SlotReason::NeedsConfirmation)
    }

    fn confirm_value(&mut self, node: &'c Node, data: &EntityData, value: Value, reason: SlotReason) -> SlotDecision {
        let observed = self.observe_value(data, &value);
        SlotDecision { result: self.ask_for_confirmation(node, data, value), reason, value: observed }
    }

    /// Handles the answer to a confirmation.
    async fn on_confirmation(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting, candidate: Value) -> SlotDecision {
        let button_answer =
            self.view().find_selected_option(&awaiting.options).and_then(|option| option.get("value").and_then(Value::as_bool));
        let button_answer = button_answer.map(|it| if it { Consent::Yes } else { Consent::No });
        if let Some(command) = self.view().read_command().filter(|_| button_answer.is_none()) {
            let result = self.handle_command_in_slot(node, id, data, Some(candidate), command);
            return SlotDecision::new(result, SlotReason::Command(command));
        }
        match button_answer.or_else(|| read_consent(&self.event.input_text(), &self.state.locale)) {
            Some(Consent::Yes) => return self.write_slot(id, data, candidate, SlotReason::Confirmed),
            Some(Consent::No) => return self.reject_answer(node, id, data, None),
            Some(consent @ (Consent::YesBut | Consent::NoBut)) => {
                // `yes, but to savings` and `no, 30 dollars` change a value, and the user is asked again.
                let changed = self.view().read_change(data, &candidate);
                let has_others = self.read_other_changes(data);
                return match changed {
                    Some(changed) => {
                        let changed = self.fit_typed_time(data, changed);
                        self.validate_candidate(node, id, data, changed)
                    }
                    None if has_others || consent == Consent::YesBut => {
                        SlotDecision::new(self.ask_for_confirmation(node, data, candidate), SlotReason::ChangesValue)
                    }
                    None => self.reject_answer(node, id, data, None),
                };
            }
            None => {}
        }
        // "I meant 5", "not Chicago, Boston"
        if let Some(changed) = self.view().read_change(data, &candidate).filter(|_| self.view().is_correction(data)) {
            self.read_other_changes(data);
            let changed = self.fit_typed_time(data, changed);
            return self.validate_candidate(node, id, data, changed);
        }
        if data.interruptible {
            match self.try_interrupt(awaiting, true).await {
                Interrupt::Taken(next) => return SlotResult::Interrupted(next).into(),
                Interrupt::Answered => return self.ask_for_confirmation(node, data, candidate).into(),
                Interrupt::Nothing => {}
            }
        }
        SlotDecision::new(self.ask_for_confirmation(node, data, candidate), SlotReason::Unconfirmed)
    }

    /// Writes the values that a message has for other slots of the graph, or says why not; returns whether there are any. A type that two
    /// slots have says nothing about either.
    fn read_other_changes(&mut self, data: &EntityData) -> bool {
        let Some(graph) = self.graph() else { return false };
        let mut has_changes = false;
        let slot_of = |node: &'c Node| if let NodeKind::Entity(data) = &node.kind { Some(&**data) } else { None };
        let slots: Vec<&'c EntityData> = graph.definition.nodes.iter().filter_map(slot_of).collect();
        let values = self.view().find_answer_values(Some(data), &self.event.input_text());
        for slot in &slots {
            let is_alone = slots.iter().filter(|it| it.entity == slot.entity).count() == 1;
            if slot.variable == data.variable || reads_any_text(&slot.entity) {
                continue;
            }
            let has_type_alone = is_alone && slot.entity != data.entity;
            let by_type = || if has_type_alone { values.only_free(slot).and_then(|it| it.value.clone()) } else { None };
            let Some(value) = values.named(slot).cloned().or_else(by_type) else { continue };
            has_changes = true;
            let value = self.fit_typed_time(slot, value);
            if let Some(message) = self.find_violation(slot, &value) {
                if let Some(message) = message {
                    self.send_question(&message, &[], "");
                }
            } else {
                // A value of another type than the variable's is left out.
                if self.write_variable(&slot.variable, value).is_ok() {
                    self.record_filled_slot(&slot.variable, "");
                }
            }
            if self.view().is_slot_redacted(slot) {
                self.redact_input(&slot.variable);
            }
        }
        has_changes
    }
}

fn unknown_entity(data: &EntityData) -> SlotResult {
    SlotResult::Failed(Failure::new("entity_unknown", format!("unknown entity '{}'", data.entity)))
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
        let values = self.find_answer_values(Some(data), &self.restated_input());
        let value = values.named(data).or_else(|| values.only_free(data).and_then(|it| it.value.as_ref()))?;
        Some(value.clone()).filter(|it| it != candidate)
    }

    /// Whether the message says that it replaces something, or is nothing but a value.
    fn is_correction(&self, data: &EntityData) -> bool {
        let text = self.event.input_text();
        let has_denied_value = |data: &EntityData| {
            let found =
                self.flow.compile_slot_entity(data).map(|entity| entity.find_all(&text, self.extraction_context())).unwrap_or_default();
            found.iter().any(|it| is_part_denied(&text, &it.range, &self.state.locale))
        };
        has_denied_value(data)
            || read_correction(&text, &self.state.locale).is_some()
            || !is_question(&text, &self.state.locale) && !self.has_many_words()
    }

    fn has_many_words(&self) -> bool {
        Phrase::without_accents(&self.event.input_text()).tokens().len() >= MIN_DIGRESSION_WORDS
    }
}

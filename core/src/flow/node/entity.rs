//! `entity` nodes: fill a slot by prompting for its value (docs/spec/flows.md#4.4).

use serde_json::{Value, json};

use super::super::Walk;
use super::super::fail::Failure;
use super::super::matching::Interrupt;
use super::super::walk::Next;
use super::validate::breach;
use crate::config::flow::document::{Ask, EntityData, Filling, LocalizedText, Node, Template};
use crate::entity::{Entity, Found, Said};
use crate::flow::state::{Awaiting, AwaitingKind, FlowEvent};
use crate::turn::Map;

/// The result of filling a slot.
#[derive(Debug)]
pub(super) enum Filled {
    /// The slot has a value.
    Done,
    /// The user has been prompted.
    Asked(Awaiting),
    /// The slot could not be filled.
    Failed(Failure),
    /// The question was interrupted.
    Elsewhere(Next),
}

/// Entities that accept every message; they are not prefilled from the message that triggered the intent.
const TAKES_ALL: [&str; 2] = ["@string", "@list"];

/// The variable with a value that the user has to confirm.
const SLOT: &str = "_slot";

impl<'c> Walk<'c> {
    pub(super) fn entity(&mut self, node: &'c Node, data: &'c EntityData) -> Next {
        let id = node.id.clone();
        let filled = self.fill(node, &id, data);
        self.after(filled)
    }

    pub(super) async fn entity_answered(&mut self, node: &'c Node, data: &'c EntityData, awaiting: Awaiting) -> Next {
        let id = node.id.clone();
        let filled = self.answered(node, &id, data, awaiting).await;
        self.after(filled)
    }

    pub(super) fn entity_again(&mut self, node: &'c Node, data: &'c EntityData) -> Next {
        Next::Wait(self.prompt(node, &node.id, data))
    }

    fn after(&mut self, filled: Filled) -> Next {
        match filled {
            Filled::Done => Next::Port("out".to_owned()),
            Filled::Asked(awaiting) => Next::Wait(awaiting),
            Filled::Failed(failure) => Next::Fail(failure),
            Filled::Elsewhere(next) => next,
        }
    }

    /// Fills a slot: keeps a valid value, prefills it from the message that triggered the intent, or prompts.
    pub(super) fn fill(&mut self, node: &'c Node, id: &str, data: &EntityData) -> Filled {
        self.fill_quietly(id, data).unwrap_or_else(|| {
            let place = self.slot_place(id);
            self.state.counters.attempts.remove(&place);
            Filled::Asked(self.prompt(node, id, data))
        })
    }

    /// Fills a slot without prompting; it is unchanged when no value is found.
    pub(super) fn fill_unasked(&mut self, id: &str, data: &EntityData) -> Filled {
        self.fill_quietly(id, data).unwrap_or(Filled::Done)
    }

    /// Fills a slot from its valid value or from the message that triggered the intent.
    fn fill_quietly(&mut self, id: &str, data: &EntityData) -> Option<Filled> {
        let Some(entity) = self.flow.entity(&data.entity) else {
            return Some(Filled::Failed(Failure::new("entity_unknown", format!("there is no entity '{}'", data.entity))));
        };
        let place = self.slot_place(id);
        if data.ask == Ask::IfEmpty
            && let Some(value) = self.variable(&data.variable).filter(|it| !it.is_null()).cloned()
            && let Some(value) = entity.accept(&value, self.heard())
            && self.breaks(data, &value).is_none()
        {
            self.trace("entity.skipped", json!({"node": id, "variable": data.variable.to_string()}));
            return Some(Filled::Done);
        }
        if data.prefill_from_trigger
            && !TAKES_ALL.contains(&data.entity.as_str())
            && let Some(text) = self.trigger_for(&place)
            && let Found::One(value) = entity.extract(&text, self.heard())
            && self.breaks(data, &value).is_none()
        {
            self.trace("entity.prefilled", json!({"node": id, "variable": data.variable.to_string()}));
            return Some(self.fills(id, data, value));
        }
        None
    }

    /// Prompts for the value.
    pub(super) fn prompt(&mut self, node: &'c Node, id: &str, data: &EntityData) -> Awaiting {
        self.state.vars.shift_remove(SLOT);
        let place = self.slot_place(id);
        let before = self.said.len();
        let mut options = self.ask(&data.prompt, &data.buttons, &place);
        if self.said.len() == before {
            let name = data.variable.to_string().replace(['.', '_'], " ");
            options = self.ask(&plain(format!("{name}?")), &data.buttons, &place);
        }
        self.trace("entity.prompt", json!({"node": id, "variable": data.variable.to_string()}));
        self.slot_awaits(node, data, options)
    }

    fn slot_awaits(&self, node: &Node, data: &EntityData, options: Vec<Value>) -> Awaiting {
        let (entity, variable) = (Some(data.entity.clone()), Some(data.variable.to_string()));
        Awaiting { entity, variable, ..self.awaiting(AwaitingKind::Entity, node, options) }
    }

    /// Handles the answer to a prompt.
    pub(super) async fn answered(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting) -> Filled {
        let Some(entity) = self.flow.entity(&data.entity) else {
            return Filled::Failed(Failure::new("entity_unknown", format!("there is no entity '{}'", data.entity)));
        };
        if let Some(candidate) = self.state.vars.shift_remove(SLOT).and_then(|it| it.get("candidate").cloned()) {
            return self.confirmed(node, id, data, awaiting, candidate).await;
        }
        let found = match self.pressed(&awaiting.options) {
            Some(option) => {
                self.press(&option);
                let value = option.get("value").or_else(|| option.get("label")).cloned().unwrap_or_default();
                Ok(entity.accept(&value, self.heard()))
            }
            None => match entity.extract(&self.uttered(), self.heard()) {
                Found::One(value) => Ok(Some(value)),
                Found::Nothing => Ok(None),
                Found::Several(values) => Err(values),
            },
        };
        match found {
            Ok(Some(value)) => self.candidate(node, id, data, value),
            Err(values) => {
                self.trace("entity.ambiguous", json!({"node": id, "values": values}));
                self.invalid(node, id, data, Some(&plain(format!("{}?", values.join(" / ")))))
            }
            Ok(None) => self.nothing_found(node, id, data, awaiting, &entity).await,
        }
    }

    /// Handles an answer without a value: a model may extract one, or another intent may interrupt.
    async fn nothing_found(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting, entity: &Entity) -> Filled {
        if data.llm_extract
            && let Some(value) = self.extract_by_model(data, entity).await
        {
            return self.candidate(node, id, data, value);
        }
        if data.interruptible {
            self.state.awaiting = Some(awaiting);
            match self.interrupt().await {
                Interrupt::Pushed => return Filled::Elsewhere(Next::Entered),
                Interrupt::Talked => {
                    self.state.awaiting = None;
                    return Filled::Asked(self.prompt(node, id, data));
                }
                Interrupt::Ended => return Filled::Elsewhere(Next::Stay),
                Interrupt::No => self.state.awaiting = None,
            }
        }
        self.invalid(node, id, data, None)
    }

    /// Validates a value, and confirms it when required.
    fn candidate(&mut self, node: &'c Node, id: &str, data: &EntityData, value: Value) -> Filled {
        if let Some(message) = self.breaks(data, &value) {
            return self.invalid(node, id, data, message.as_ref());
        }
        if !data.confirm {
            return self.fills(id, data, value);
        }
        self.asks_confirmation(node, data, value)
    }

    /// Handles the answer to a confirmation.
    async fn confirmed(&mut self, node: &'c Node, id: &str, data: &EntityData, awaiting: Awaiting, candidate: Value) -> Filled {
        let pressed = self.pressed(&awaiting.options).and_then(|it| it.get("value").cloned());
        let extract_yes_no = || Entity::system("@boolean").map(|it| it.extract(&self.uttered(), self.heard()));
        let answer = pressed.or_else(|| extract_yes_no().and_then(|it| if let Found::One(value) = it { Some(value) } else { None }));
        match answer.as_ref().and_then(Value::as_bool) {
            Some(true) => return self.fills(id, data, candidate),
            Some(false) => return self.invalid(node, id, data, None),
            None => {}
        }
        if data.interruptible {
            self.state.awaiting = Some(awaiting);
            match self.interrupt().await {
                Interrupt::Pushed => return Filled::Elsewhere(Next::Entered),
                Interrupt::Ended => return Filled::Elsewhere(Next::Stay),
                Interrupt::Talked => return self.asks_confirmation(node, data, candidate),
                Interrupt::No => self.state.awaiting = None,
            }
        }
        self.asks_confirmation(node, data, candidate)
    }

    fn asks_confirmation(&mut self, node: &'c Node, data: &EntityData, candidate: Value) -> Filled {
        let shown = readable(&candidate);
        self.state.vars.insert(SLOT.to_owned(), json!({"variable": data.variable.to_string(), "candidate": candidate}));
        let yes_no = [("yes", "Yes"), ("no", "No")].map(|(id, label)| json!({"id": id, "label": label, "value": id == "yes"}));
        let options = self.say_with_options(&format!("Is that {shown}?"), &yes_no);
        if self.hides(data) {
            self.strike_out_asked(&data.variable, &shown);
        }
        Filled::Asked(self.slot_awaits(node, data, options))
    }

    /// Writes the value of a slot.
    fn fills(&mut self, id: &str, data: &EntityData, value: Value) -> Filled {
        if let Err(reason) = self.write(&data.variable, value) {
            return Filled::Failed(Failure::new("type_mismatch", reason.0));
        }
        let place = self.slot_place(id);
        self.state.counters.attempts.remove(&place);
        self.state.counters.fallbacks = 0;
        self.trace("entity.filled", json!({"node": id, "variable": data.variable.to_string()}));
        if self.hides(data) {
            self.strike_out(&data.variable);
        }
        Filled::Done
    }

    /// Handles an invalid answer: reprompts, or gives up at the maximum number of attempts.
    fn invalid(&mut self, node: &'c Node, id: &str, data: &EntityData, message: Option<&LocalizedText>) -> Filled {
        let place = self.slot_place(id);
        let attempts = self.state.counters.attempts.entry(place.clone()).or_default();
        *attempts += 1;
        let attempts = *attempts;
        self.trace("entity.invalid", json!({"node": id, "variable": data.variable.to_string(), "attempt": attempts}));
        if self.hides(data) {
            self.strike_out(&data.variable);
        }
        if attempts >= data.max_attempts {
            self.state.counters.attempts.remove(&place);
            if data.required {
                let reason = format!("no valid answer in {attempts} attempts");
                let at = Some((id.to_owned(), node.name.clone()));
                return Filled::Failed(Failure { attempt: attempts, at, ..Failure::new("max_attempts", reason) });
            }
            let default = self.filled(&Filling::from(data.default.clone()), Map::new());
            return match self.write(&data.variable, default) {
                Ok(()) => Filled::Done,
                Err(reason) => Filled::Failed(Failure::new("type_mismatch", reason.0)),
            };
        }
        let last = data.reprompt.len().min(usize::try_from(attempts).unwrap_or(usize::MAX));
        let again = message.or_else(|| data.reprompt.get(last.checked_sub(1)?)).unwrap_or(&data.prompt);
        let before = self.said.len();
        let mut options = self.ask(again, &data.buttons, &place);
        if self.said.len() == before {
            options = self.ask(&plain(format!("{}?", data.variable)), &data.buttons, &place);
        }
        Filled::Asked(self.slot_awaits(node, data, options))
    }

    /// Returns the message of the first rule that a value violates; the inner `None` is a rule without a message.
    fn breaks(&mut self, data: &EntityData, value: &Value) -> Option<Option<LocalizedText>> {
        for rule in &data.validation {
            let extra = Map::from_iter([("value".to_owned(), value.clone())]);
            let is_violated = breach(rule, value) || rule.expr.as_ref().is_some_and(|it| !self.holds(it, extra));
            if is_violated {
                return Some(rule.message.clone());
            }
        }
        None
    }

    fn hides(&self, data: &EntityData) -> bool {
        data.redact || self.redacts(&data.variable, &data.entity)
    }

    pub(in crate::flow) fn heard(&self) -> Said<'_> {
        Said { locale: &self.state.locale, now: self.door.now() }
    }

    fn slot_place(&self, id: &str) -> String {
        format!("{}/{id}", self.frame().map_or("", |it| &it.graph))
    }

    /// The text of the event; of a button, its value, else its label, else its id.
    pub(in crate::flow) fn uttered(&self) -> String {
        match &self.event {
            FlowEvent::Message { text, .. } => text.clone(),
            FlowEvent::Button { button_id, value, label, .. } => {
                let value = value.as_ref().and_then(Value::as_str).map(str::to_owned);
                value.or_else(|| label.clone()).unwrap_or_else(|| button_id.clone())
            }
            FlowEvent::Start { .. } | FlowEvent::Timer { .. } | FlowEvent::Approval { .. } | FlowEvent::End { .. } => String::new(),
        }
    }

    /// The message that triggered the intent, once for each slot of its frame.
    fn trigger_for(&mut self, place: &str) -> Option<String> {
        let trigger = self.trigger.as_mut()?;
        if trigger.seen.iter().any(|it| it == place) || self.state.stack.len() <= trigger.depth {
            return None;
        }
        trigger.seen.push(place.to_owned());
        Some(trigger.text.clone())
    }
}

/// Formats a value for the user.
fn readable(value: &Value) -> String {
    let text = |it: &str| value.get(it).map(crate::text::plain_text);
    match (value, text("amount").zip(text("currency"))) {
        (Value::Object(_), Some((amount, currency))) => format!("{amount} {currency}"),
        (Value::Array(items), _) => items.iter().map(readable).collect::<Vec<_>>().join(", "),
        _ => crate::text::plain_text(value),
    }
}

fn plain(text: String) -> LocalizedText {
    // Braces in a value are not placeholders.
    let source = text.replace("{{", "\\{{");
    LocalizedText { of: vec![("default".to_owned(), vec![Template::from(source)])] }
}

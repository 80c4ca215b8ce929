//! Repair: what the user says about the conversation itself, and how the conversation goes on after something else (docs/spec/flows.md#5.6).
//!
//! Each pattern has a default behavior, and words and texts in the languages of the engine; a document changes or turns off each of them
//! (`repair`, docs/reference/repair.md). Intents of the document come first.

use std::cell::LazyCell;

use convengine_config::flow::document::{EntityData, IntentDef, LocalizedText, Node, ProgramKind, command_name};
use convengine_text::locale::EngineText;
use convengine_text::phrase::Phrase;
use convengine_values::{Command, read_command};
use serde_json::{Value, json};

use super::Walker;
use super::handoff_distance::questions_before_handoff;
use super::matching::IntentMatch;
use super::node::SlotResult;
use super::walk::Transition;
use crate::state::{Awaiting, FlowEvent, FrameKind, Resume};

/// Maximum intents that are named to somebody who asks what can be done.
const MAX_NAMED_INTENTS: usize = 8;

/// A text before a question that is asked again.
enum Preamble<'t> {
    Engine(EngineText, &'t str),
    Document(&'t LocalizedText),
}

impl<'c> Walker<'c> {
    /// The command that the message is, unless the document has turned it off.
    pub(super) fn read_command(&self) -> Option<Command> {
        let FlowEvent::Message { text, .. } = &self.event else { return None };
        let rules = &self.flow.document.repair;
        let said = LazyCell::new(|| Phrase::new(text, &self.flow.document.default_locale));
        let own = rules.commands.iter().find(|it| {
            let phrases = it.phrases_of(&self.state.locale);
            phrases.into_iter().any(|it| Phrase::new(it, &self.flow.document.default_locale) == *said)
        });
        let command = own.map(|it| it.command).or_else(|| read_command(text, &self.state.locale))?;
        rules.is_enabled(command).then_some(command)
    }

    /// Obeys a command instead of an answer to a slot. `place` is the id of the slot.
    pub(super) async fn obey_in_slot(
        &mut self,
        node: &'c Node,
        place: &str,
        data: &EntityData,
        candidate: Option<Value>,
        command: Command,
    ) -> SlotResult {
        self.note_verdict(|_| format!("the answer is the command '{}'", command_name(command)));
        self.trace_command(command);
        if let Some(next) = self.run_command_graph(command) {
            return SlotResult::Interrupted(next);
        }
        match command {
            Command::Cancel => SlotResult::Interrupted(self.cancel_request().await),
            Command::StartOver => SlotResult::Interrupted(self.start_over()),
            Command::Person => match self.call_person() {
                Some(next) => SlotResult::Interrupted(next),
                None => self.ask_again(node, place, data, candidate, Some(Preamble::Engine(EngineText::NoPerson, ""))),
            },
            Command::Skip if !data.required => self.give_up_slot(place, data),
            Command::Skip => self.ask_again(node, place, data, candidate, Some(Preamble::Engine(EngineText::AnswerNeeded, ""))),
            Command::Repeat => self.ask_again(node, place, data, candidate, None),
            Command::Help => {
                let name = self.active_intent().map(|it| self.name_intent(it)).unwrap_or_default();
                let reason = if name.is_empty() {
                    Preamble::Engine(EngineText::AnswerNeeded, "")
                } else {
                    Preamble::Engine(EngineText::ReasonForQuestion, &name)
                };
                let preamble = data.help.as_ref().map_or(reason, Preamble::Document);
                self.ask_again(node, place, data, candidate, Some(preamble))
            }
            // The value that is to be confirmed is asked for again.
            Command::Back if candidate.is_some() => self.ask_again(node, place, data, None, None),
            Command::Back => match self.go_back(&self.slot_key(place)) {
                Ok(awaiting) => SlotResult::Prompted(awaiting),
                Err(text) => self.ask_again(node, place, data, None, Some(Preamble::Engine(text, ""))),
            },
        }
    }

    /// Asks for a slot again after something else has been said.
    fn ask_again(
        &mut self,
        node: &'c Node,
        place: &str,
        data: &EntityData,
        candidate: Option<Value>,
        preamble: Option<Preamble<'_>>,
    ) -> SlotResult {
        match preamble {
            Some(Preamble::Engine(text, name)) => {
                let text = self.engine_text(text, &[("name", name)]);
                self.send_text(&text);
            }
            Some(Preamble::Document(text)) => self.send_localized(text, place),
            None => {}
        }
        match candidate {
            Some(candidate) => self.ask_for_confirmation(node, data, candidate),
            None => SlotResult::Prompted(self.prompt_for_slot(node, place, data)),
        }
    }

    /// Obeys a command instead of the choice of a button.
    pub(super) async fn obey_at_buttons(&mut self, node: &'c Node, command: Command) -> Transition {
        self.trace_command(command);
        if let Some(next) = self.run_command_graph(command) {
            return next;
        }
        let said = match command {
            Command::Cancel => return self.cancel_request().await,
            Command::StartOver => return self.start_over(),
            Command::Person => match self.call_person() {
                Some(next) => return next,
                None => Some(EngineText::NoPerson),
            },
            Command::Back => match self.go_back("") {
                Ok(awaiting) => return Transition::Wait(awaiting),
                Err(text) => Some(text),
            },
            Command::Skip => Some(EngineText::AnswerNeeded),
            Command::Repeat | Command::Help => None,
        };
        if let Some(text) = said {
            let text = self.engine_text(text, &[]);
            self.send_text(&text);
        }
        self.reprompt_node(node)
    }

    /// Obeys a command while nothing is awaited. Returns `None` for one that means nothing here.
    pub(super) fn obey_when_idle(&mut self, command: Command) -> Option<Transition> {
        let names = self.named_intents();
        let last = self.last_bot_text();
        let has_meaning = match command {
            Command::Skip | Command::Back => false,
            Command::Help => !names.is_empty(),
            Command::Repeat => last.is_some(),
            Command::Cancel | Command::StartOver | Command::Person => true,
        };
        if !has_meaning {
            return None;
        }
        self.trace_command(command);
        self.state.counters.fallbacks = 0;
        if let Some(next) = self.run_command_graph(command) {
            return Some(next);
        }
        let text = match command {
            Command::StartOver => return Some(self.start_over()),
            Command::Person => match self.call_person() {
                Some(next) => return Some(next),
                None => self.engine_text(EngineText::NoPerson, &[]),
            },
            Command::Help => self.engine_text(EngineText::CanHelpWith, &[("names", &names)]),
            Command::Repeat => last.unwrap_or_default(),
            Command::Cancel | Command::Skip | Command::Back => self.engine_text(EngineText::NothingToCancel, &[]),
        };
        self.send_text(&text);
        Some(Transition::EndTurn)
    }

    /// Runs the graph that the document gives a command, if it gives one. What was asked is asked again afterwards, unless it is left.
    fn run_command_graph(&mut self, command: Command) -> Option<Transition> {
        let rule = self.flow.document.repair.commands.iter().find(|it| it.command == command);
        let graph = rule?.graph.as_ref()?;
        self.flow.graph(graph)?;
        if matches!(command, Command::Cancel | Command::StartOver) {
            self.leave_request();
        } else if let Some(frame) = self.state.stack.last_mut() {
            frame.resume = Some(Resume::Reenter);
        }
        self.state.awaiting = None;
        self.push_graph(graph, FrameKind::Event).then_some(Transition::GraphPushed)
    }

    /// Leaves the innermost intent or event, and goes on with what it has interrupted.
    async fn cancel_request(&mut self) -> Transition {
        let is_root = self.leave_request();
        let text = self.engine_text(EngineText::Cancelled, &[]);
        self.send_text(&text);
        if !is_root && Box::pin(self.resume_frame()).await {
            return Transition::GraphPushed;
        }
        Transition::EndTurn
    }

    /// Drops the frames of the innermost intent or event. Returns whether it was the root that waited.
    fn leave_request(&mut self) -> bool {
        self.state.awaiting = None;
        self.state.vars.shift_remove("_slot");
        self.state.counters.attempts.clear();
        let Some(at) = self.state.stack.iter().rposition(|it| matches!(it.kind, FrameKind::Intent | FrameKind::Event)) else {
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

    /// Begins anew: what slots have collected is forgotten, and the session is where it was when it began.
    fn start_over(&mut self) -> Transition {
        self.reset_to_root();
        for slot in std::mem::take(&mut self.state.filled_slots) {
            if let Ok(path) = convengine_text::variable_path::VariablePath::parse(&slot.variable) {
                // A reserved name is no slot.
                let _ = self.remove_variable(&path);
            }
        }
        self.state.pending_values.clear();
        self.state.counters.fallbacks = 0;
        let text = self.engine_text(EngineText::StartedOver, &[]);
        self.send_text(&text);
        if self.flow.kind != ProgramKind::Assistant {
            return Transition::EndTurn;
        }
        self.rewind_root();
        self.push_welcome();
        Transition::GraphPushed
    }

    /// Puts the root at its entry.
    fn rewind_root(&mut self) {
        let entry = self.flow.graph(&self.flow.document.root).map(|it| it.definition.entry.clone());
        if let (Some(root), Some(entry)) = (self.state.stack.first_mut(), entry) {
            root.node = entry;
        }
    }

    /// Goes to the intent, or to the graph of repeated fallbacks, that hands over to a person: to one that asks nothing before, else to the one
    /// that asks least.
    fn call_person(&mut self) -> Option<Transition> {
        let flow = self.flow;
        let of_intent = |it: &'c IntentDef| Some((questions_before_handoff(flow, &it.graph)?, it));
        let nearest = flow.document.intents.iter().filter(|it| it.enabled).filter_map(of_intent).min_by_key(|it| it.0);
        let hands_over = |graph: &&'c String| questions_before_handoff(flow, graph).is_some();
        let graph = self.settings().fallback_limit_graph.as_ref().filter(hands_over);
        if let Some((questions, intent)) = nearest
            && (questions == 0 || graph.is_none())
        {
            let hit = IntentMatch { intent, source: "repair", confidence: 1.0, phrase: None, slots: Value::Null, message: None };
            return self.begin_intent(&hit).then_some(Transition::GraphPushed);
        }
        if let Some(frame) = self.state.stack.last_mut().filter(|_| self.state.awaiting.is_some()) {
            frame.resume = Some(Resume::Reenter);
        }
        self.state.awaiting = None;
        self.push_graph(graph?, FrameKind::Event).then_some(Transition::GraphPushed)
    }

    /// Asks for the slot that was filled last, but for that at `place`.
    ///
    /// # Errors
    /// What to say when there is none, or when it cannot be taken back.
    fn go_back(&mut self, place: &str) -> Result<Awaiting, EngineText> {
        let filled = self.filled_in_graph();
        let slot = filled.iter().rev().find(|it| it.place != place).ok_or(EngineText::FirstQuestion)?;
        if slot.is_final {
            return Err(EngineText::CannotChange);
        }
        let (node, data) = self.node_at(&slot.place).zip(self.data_of_slot(slot)).ok_or(EngineText::FirstQuestion)?;
        self.empty_slot(&data.variable);
        self.state.counters.attempts.remove(&slot.place);
        if let Some(frame) = self.state.stack.last_mut() {
            node.id.clone_into(&mut frame.node);
        }
        let id = slot.place.split_once('/').map_or("", |it| it.1);
        Ok(self.prompt_for_slot(node, id, &data))
    }

    /// Says to what the conversation returns after something else.
    pub(super) fn announce_return(&mut self) {
        if !self.flow.document.repair.digression {
            return;
        }
        if let Some(name) = self.active_intent().map(|it| self.name_intent(it)) {
            let text = self.engine_text(EngineText::Returned, &[("name", &name)]);
            self.send_text(&text);
        }
    }

    /// What is said to messages in a row that nothing answers: the second is answered otherwise than the first, and the third is given to
    /// a person, if there is one.
    pub(super) fn answer_unmatched(&mut self, count: u32) -> Option<Transition> {
        let text = match count {
            _ if !self.flow.document.repair.no_understanding => EngineText::NotUnderstood,
            0 | 1 => EngineText::NotUnderstood,
            2 => EngineText::NotUnderstoodAgain,
            _ => match self.call_person() {
                Some(next) => return Some(next),
                None => EngineText::GivenUp,
            },
        };
        let text = self.engine_text(text, &[]);
        self.send_text(&text);
        None
    }

    /// The innermost intent that is being served.
    fn active_intent(&self) -> Option<&'c IntentDef> {
        let id = self.state.stack.iter().rev().find_map(|it| it.intent_id.as_ref())?;
        self.flow.intent(id)
    }

    fn named_intents(&self) -> String {
        let named = self.flow.document.intents.iter().filter(|it| it.enabled && !it.is_fallback);
        named.take(MAX_NAMED_INTENTS).map(|it| self.name_intent(it)).collect::<Vec<_>>().join(", ")
    }

    fn last_bot_text(&self) -> Option<String> {
        self.state.history.iter().rev().find(|it| it.role == "bot").map(|it| it.text.clone())
    }

    fn trace_command(&self, command: Command) {
        self.trace("repair", json!({"pattern": command_name(command)}));
    }
}

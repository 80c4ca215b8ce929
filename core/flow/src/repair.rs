//! Repair: what the user says about the conversation itself, and how the conversation goes on after something else (docs/spec/flows.md#5.6).
//!
//! Each pattern has a default behavior, and words and texts in the languages of the engine; a document changes or turns off each of them
//! (`repair`, docs/reference/repair.md). Intents of the document come first.

use convengine_config::flow::document::{EntityData, IntentDef, LocalizedText, Node, ProgramKind, command_name};
use convengine_text::locale::EngineText;
use convengine_text::variable_path::VariablePath;
use convengine_values::Command;
use serde_json::{Value, json};

use super::handoff_distance::questions_before_handoff;
use super::intent_match::IntentMatch;
use super::state::{Awaiting, FrameKind, Resume};
use super::transition::{SlotResult, Transition};
use super::turn::Turn;

/// A text before a question that is asked again.
enum Preamble<'t> {
    Engine(EngineText, &'t str),
    Document(&'t LocalizedText),
}

impl<'c> Turn<'c> {
    /// Handles a command instead of an answer to a slot. `place` is the id of the slot.
    pub(super) fn handle_command_in_slot(
        &mut self,
        node: &'c Node,
        place: &str,
        data: &EntityData,
        candidate: Option<Value>,
        command: Command,
    ) -> SlotResult {
        if let Some(next) = self.begin_command(command) {
            return SlotResult::Interrupted(next);
        }
        match command {
            Command::Cancel => SlotResult::Interrupted(self.cancel_request()),
            Command::StartOver => SlotResult::Interrupted(self.start_over()),
            Command::Person => match self.begin_handoff() {
                Some(next) => SlotResult::Interrupted(next),
                None => self.ask_again(node, place, data, candidate, Some(Preamble::Engine(EngineText::NoPerson, ""))),
            },
            Command::Skip if !data.required => self.skip_slot(place, data),
            Command::Skip => self.ask_again(node, place, data, candidate, Some(Preamble::Engine(EngineText::AnswerNeeded, ""))),
            Command::Repeat => self.ask_again(node, place, data, candidate, None),
            Command::Help => {
                let name = self.view().active_intent().map(|intent| self.view().name_intent(intent)).unwrap_or_default();
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
            Command::Back => match self.go_back(&self.state.node_key(place)) {
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
            Some(Preamble::Engine(text, name)) => self.say(text, &[("name", name)]),
            Some(Preamble::Document(text)) => self.send_localized(text, place),
            None => {}
        }
        match candidate {
            Some(candidate) => self.ask_for_confirmation(node, data, candidate),
            None => SlotResult::Prompted(self.prompt_for_slot(node, place, data)),
        }
    }

    /// Handles a command instead of the choice of a button. Afterwards the message is repeated, unless something else happens.
    pub(super) fn handle_command_at_buttons(&mut self, command: Command) -> Option<Transition> {
        if let Some(next) = self.begin_command(command) {
            return Some(next);
        }
        let text = match command {
            Command::Cancel => return Some(self.cancel_request()),
            Command::StartOver => return Some(self.start_over()),
            Command::Person => match self.begin_handoff() {
                Some(next) => return Some(next),
                None => Some(EngineText::NoPerson),
            },
            Command::Back => match self.go_back("") {
                Ok(awaiting) => return Some(Transition::Wait(awaiting)),
                Err(text) => Some(text),
            },
            Command::Skip => Some(EngineText::AnswerNeeded),
            Command::Repeat | Command::Help => None,
        };
        if let Some(text) = text {
            self.say(text, &[]);
        }
        None
    }

    /// Handles a command while nothing is awaited.
    pub(super) fn handle_command_when_idle(&mut self, command: Command) -> Transition {
        self.state.counters.fallbacks = 0;
        if let Some(next) = self.begin_command(command) {
            return next;
        }
        match command {
            Command::StartOver => return self.start_over(),
            Command::Person => match self.begin_handoff() {
                Some(next) => return next,
                None => self.say(EngineText::NoPerson, &[]),
            },
            Command::Help => self.say(EngineText::CanHelpWith, &[("names", &self.view().intent_names())]),
            Command::Repeat => self.send_text(&self.view().last_bot_text().unwrap_or_default()),
            Command::Cancel | Command::Skip | Command::Back => self.say(EngineText::NothingToCancel, &[]),
        }
        Transition::EndTurn
    }

    /// Traces a command, and runs the graph that the document gives it, if it gives one. What was asked is asked again afterwards, unless it
    /// is left.
    fn begin_command(&mut self, command: Command) -> Option<Transition> {
        self.trace("repair", json!({"pattern": command_name(command)}));
        let rule = self.flow.document.repair.commands.iter().find(|it| it.command == command);
        let graph = rule?.graph.as_ref()?;
        self.flow.graph(graph)?;
        if matches!(command, Command::Cancel | Command::StartOver) {
            self.leave_request();
        } else {
            self.state.resume_with(Some(Resume::Reenter));
        }
        self.state.awaiting = None;
        self.push_graph(graph, FrameKind::Event).then_some(Transition::GraphPushed)
    }

    /// Leaves the innermost intent or event, and goes on with what it has interrupted.
    fn cancel_request(&mut self) -> Transition {
        let is_root = self.leave_request();
        self.say(EngineText::Cancelled, &[]);
        if is_root { Transition::EndTurn } else { Transition::Resume }
    }

    /// Begins anew: what slots have collected is forgotten, and the session is where it was when it began.
    fn start_over(&mut self) -> Transition {
        self.reset_to_root();
        for slot in std::mem::take(&mut self.state.filled_slots) {
            if let Ok(path) = VariablePath::parse(&slot.variable) {
                // A reserved name is no slot.
                let _ = self.remove_variable(&path);
            }
        }
        self.state.pending_values.clear();
        self.state.afternoon = None;
        self.state.counters.fallbacks = 0;
        self.say(EngineText::StartedOver, &[]);
        if self.flow.kind != ProgramKind::Assistant {
            return Transition::EndTurn;
        }
        self.rewind_root();
        self.push_welcome();
        Transition::GraphPushed
    }

    /// Goes to the intent, or to the graph of repeated fallbacks, that hands over to a person: to one that asks nothing before, else to the one
    /// that asks least.
    fn begin_handoff(&mut self) -> Option<Transition> {
        let flow = self.flow;
        let with_distance = |intent: &'c IntentDef| Some((questions_before_handoff(flow, &intent.graph)?, intent));
        let nearest = flow.document.intents.iter().filter(|it| it.enabled).filter_map(with_distance).min_by_key(|it| it.0);
        let leads_to_person = |graph: &&'c String| questions_before_handoff(flow, graph).is_some();
        let graph = self.settings().fallback_limit_graph.as_ref().filter(leads_to_person);
        if let Some((questions, intent)) = nearest
            && (questions == 0 || graph.is_none())
        {
            return self.begin_intent(&IntentMatch::new(intent, "repair", 1.0)).then_some(Transition::GraphPushed);
        }
        if self.state.awaiting.take().is_some() {
            self.state.resume_with(Some(Resume::Reenter));
        }
        self.push_graph(graph?, FrameKind::Event).then_some(Transition::GraphPushed)
    }

    /// Asks for the slot that was filled last, but for that at `place`.
    ///
    /// # Errors
    /// What to say when there is none, or when it cannot be taken back.
    fn go_back(&mut self, place: &str) -> Result<Awaiting, EngineText> {
        let filled = self.view().filled_slots_in_graph();
        let slot = filled.iter().rev().find(|it| it.place != place).ok_or(EngineText::FirstQuestion)?;
        if slot.is_final {
            return Err(EngineText::CannotChange);
        }
        let (node, data) =
            self.view().find_slot_node(&slot.place).zip(self.view().find_slot_data(slot)).ok_or(EngineText::FirstQuestion)?;
        self.empty_slot(&data.variable);
        self.state.counters.attempts.remove(&slot.place);
        self.state.move_to(&node.id);
        let id = slot.place.split_once('/').map_or("", |it| it.1);
        Ok(self.prompt_for_slot(node, id, &data))
    }

    /// Says to what the conversation returns after something else.
    pub(super) fn announce_return(&mut self) {
        if !self.flow.document.repair.digression {
            return;
        }
        if let Some(name) = self.view().active_intent().map(|intent| self.view().name_intent(intent)) {
            self.say(EngineText::Returned, &[("name", &name)]);
        }
    }

    /// What is said to messages in a row that nothing answers: the second is answered otherwise than the first, and the third is given to
    /// a person, if there is one.
    pub(super) fn answer_unmatched(&mut self, count: u32) -> Option<Transition> {
        let text = match count {
            _ if !self.flow.document.repair.no_understanding => EngineText::NotUnderstood,
            0 | 1 => EngineText::NotUnderstood,
            2 => EngineText::NotUnderstoodAgain,
            _ => match self.begin_handoff() {
                Some(next) => return Some(next),
                None => EngineText::GivenUp,
            },
        };
        self.say(text, &[]);
        None
    }
}

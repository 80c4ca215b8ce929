//! `message` nodes: send a message and may wait for an answer (docs/spec/flows.md#4.3).

use convengine_config::flow::document::{Await, MessageData, Node};
use serde_json::{Value, json};

use super::super::corrections::CorrectionResult;
use super::super::matching::Interrupt;
use super::super::slot_changes::ExpectedChange;
use super::super::transition::Transition;
use super::super::turn::Turn;
use super::RunNode;
use crate::state::{Awaiting, AwaitingKind, SHOWN_BUTTONS};

impl RunNode for MessageData {
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.run_message(node, self)
    }

    async fn on_event<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node, awaiting: Awaiting) -> Transition {
        turn.on_message_answer(node, self, awaiting).await
    }

    fn reprompt<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition {
        turn.repeat_message(node, self)
    }
}

impl<'c> Turn<'c> {
    fn run_message(&mut self, node: &'c Node, data: &'c MessageData) -> Transition {
        let place = self.state.node_key(&node.id);
        let options = self.send_message(data, &place);
        self.state.counters.attempts.remove(&place);
        match self.graph().map_or(Await::None, |it| it.await_mode(node)) {
            Await::None => {
                // The node does not wait, but its buttons stay valid for the next message.
                if !options.is_empty() {
                    self.state.vars.insert(SHOWN_BUTTONS.to_owned(), Value::Array(options));
                }
                Transition::out()
            }
            Await::Button => Transition::Wait(Awaiting::new(AwaitingKind::Button, &node.id, options, self.effects.now())),
            Await::Any => Transition::Wait(Awaiting::new(AwaitingKind::Any, &node.id, options, self.effects.now())),
        }
    }

    fn repeat_message(&mut self, node: &'c Node, data: &'c MessageData) -> Transition {
        let options = self.send_message(data, &self.state.node_key(&node.id));
        let kind = if data.await_mode == Some(Await::Any) { AwaitingKind::Any } else { AwaitingKind::Button };
        Transition::Wait(Awaiting::new(kind, &node.id, options, self.effects.now()))
    }

    async fn on_message_answer(&mut self, node: &'c Node, data: &'c MessageData, awaiting: Awaiting) -> Transition {
        if let Some(option) = self.view().find_selected_option(&awaiting.options) {
            let id = option.get("id").and_then(Value::as_str).unwrap_or_default();
            let port = format!("btn:{id}");
            self.trace("button", json!({"node": node.id, "button": id}));
            self.event.choose_option(&option);
            let is_wired = self.graph().is_some_and(|it| it.is_wired(&node.id, &port));
            let port = if is_wired { port } else { "out".to_owned() };
            self.explain_button(node, &awaiting.options, Some((id, &port)));
            return Transition::Port(port);
        }
        self.explain_button(node, &awaiting.options, None);
        if awaiting.kind == AwaitingKind::Any {
            return Transition::out();
        }
        match self.correct_slots(None, ExpectedChange::Everything) {
            CorrectionResult::Nothing => {}
            CorrectionResult::Refused => return self.repeat_message(node, data),
            CorrectionResult::Changed(next) => return next,
        }
        let command = self.view().read_command();
        match self.try_interrupt(awaiting, command.is_none()).await {
            Interrupt::Taken(next) => return next,
            Interrupt::Answered => {
                self.state.awaiting = None;
                return self.repeat_message(node, data);
            }
            Interrupt::Nothing => {}
        }
        if let Some(command) = command {
            return self.handle_command_at_buttons(command).unwrap_or_else(|| self.repeat_message(node, data));
        }
        // The message is repeated once, then the node is left.
        let key = self.state.node_key(&node.id);
        let attempts = self.state.counters.attempts.entry(key).or_default();
        *attempts += 1;
        if *attempts == 1 {
            return self.repeat_message(node, data);
        }
        Transition::out()
    }
}

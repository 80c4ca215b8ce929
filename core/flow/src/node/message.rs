//! `message` nodes: send a message and may wait for an answer (docs/spec/flows.md#4.3).

use convengine_config::flow::document::{Await, MessageData, Node};
use serde_json::{Value, json};

use super::super::Walker;
use super::super::button_input::SHOWN_BUTTONS;
use super::super::corrections::Corrected;
use super::super::matching::Interrupt;
use super::super::slot_changes::ExpectedChange;
use super::super::walk::Transition;
use crate::state::{Awaiting, AwaitingKind};

impl<'c> Walker<'c> {
    pub(super) fn run_message(&mut self, node: &'c Node, data: &'c MessageData) -> Transition {
        let place = self.node_key(node);
        let options = self.send_message(data, &place);
        self.state.counters.attempts.remove(&place);
        match self.graph().map_or(Await::None, |it| it.await_mode(node)) {
            Await::None => {
                // The node does not wait, but its buttons stay valid for the next message.
                if !options.is_empty() {
                    self.state.vars.insert(SHOWN_BUTTONS.to_owned(), Value::Array(options));
                }
                Transition::Port("out".to_owned())
            }
            Await::Button => Transition::Wait(self.new_awaiting(AwaitingKind::Button, node, options)),
            Await::Any => Transition::Wait(self.new_awaiting(AwaitingKind::Any, node, options)),
        }
    }

    /// Creates the wait of a node.
    pub(super) fn new_awaiting(&self, kind: AwaitingKind, node: &Node, options: Vec<Value>) -> Awaiting {
        Awaiting {
            kind,
            node: node.id.clone(),
            entity: None,
            variable: None,
            options,
            since: Some(convengine_text::date::Date::from_millis(self.effects.now()).to_rfc3339_millis()),
            no_input_count: 0,
            call: None,
        }
    }

    /// The key of a node in counters, as `graph/node`.
    pub(crate) fn node_key(&self, node: &Node) -> String {
        format!("{}/{}", self.frame().map_or("", |it| &it.graph), node.id)
    }

    pub(super) fn repeat_message(&mut self, node: &'c Node, data: &'c MessageData) -> Transition {
        let options = self.send_message(data, &self.node_key(node));
        let kind = if data.await_mode == Some(Await::Any) { AwaitingKind::Any } else { AwaitingKind::Button };
        Transition::Wait(self.new_awaiting(kind, node, options))
    }

    pub(super) async fn on_message_answer(&mut self, node: &'c Node, data: &'c MessageData, awaiting: Awaiting) -> Transition {
        if let Some(option) = self.find_selected_option(&awaiting.options) {
            let id = option.get("id").and_then(Value::as_str).unwrap_or_default();
            let port = format!("btn:{id}");
            self.trace("button", json!({"node": node.id, "button": id}));
            self.set_button_event(&option);
            let wired = self.graph().is_some_and(|it| it.is_wired(&node.id, &port));
            let port = if wired { port } else { "out".to_owned() };
            self.explain_button(node, &awaiting.options, Some((id, &port)));
            return Transition::Port(port);
        }
        self.explain_button(node, &awaiting.options, None);
        if awaiting.kind == AwaitingKind::Any {
            return Transition::Port("out".to_owned());
        }
        match self.correct_slots(None, ExpectedChange::Everything) {
            Corrected::Nothing => {}
            Corrected::Refused => return self.repeat_message(node, data),
            Corrected::Changed(next) => return next,
        }
        let command = self.read_command();
        self.state.awaiting = Some(awaiting);
        let interrupt = self.try_interrupt(command.is_none()).await;
        if let Some(command) = command.filter(|_| interrupt == Interrupt::NotInterrupted) {
            self.state.awaiting = None;
            return self.obey_at_buttons(node, command).await;
        }
        match interrupt {
            Interrupt::IntentPushed => return Transition::GraphPushed,
            Interrupt::SmallTalk => {
                self.state.awaiting = None;
                return self.repeat_message(node, data);
            }
            Interrupt::SessionEnded => return Transition::EndTurn,
            Interrupt::NotInterrupted => self.state.awaiting = None,
        }
        // The message is repeated once, then the node is left.
        let key = self.node_key(node);
        let shown = self.state.counters.attempts.entry(key).or_default();
        *shown += 1;
        if *shown == 1 {
            return self.repeat_message(node, data);
        }
        Transition::Port("out".to_owned())
    }
}

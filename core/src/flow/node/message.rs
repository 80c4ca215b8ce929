//! `message` nodes: send a message and may wait for an answer (docs/spec/flows.md#4.3).

use serde_json::{Value, json};

use super::super::Walk;
use super::super::matching::Interrupt;
use super::super::press::SHOWN;
use super::super::walk::Next;
use crate::config::flow::document::{Await, MessageData, Node};
use crate::flow::state::{Awaiting, AwaitingKind};

impl<'c> Walk<'c> {
    pub(super) fn message(&mut self, node: &'c Node, data: &'c MessageData) -> Next {
        let place = self.place(node);
        let options = self.say_message(data, &place);
        self.state.counters.attempts.remove(&place);
        let wired = self.graph().is_some_and(|it| it.ports(&node.id).any(|it| it.starts_with("btn:")));
        let waits = data.waits.unwrap_or(if wired { Await::Button } else { Await::None });
        match if wired && waits == Await::None { Await::Button } else { waits } {
            Await::None => {
                // The node does not wait, but its buttons stay valid for the next message.
                if !options.is_empty() {
                    self.state.vars.insert(SHOWN.to_owned(), Value::Array(options));
                }
                Next::Port("out".to_owned())
            }
            Await::Button => Next::Wait(self.awaiting(AwaitingKind::Button, node, options)),
            Await::Any => Next::Wait(self.awaiting(AwaitingKind::Any, node, options)),
        }
    }

    /// Creates the wait of a node.
    pub(super) fn awaiting(&self, kind: AwaitingKind, node: &Node, options: Vec<Value>) -> Awaiting {
        Awaiting {
            kind,
            node: node.id.clone(),
            entity: None,
            variable: None,
            options,
            since: Some(crate::text::date::Date::of_millis(self.door.now()).exact()),
            no_input_count: 0,
            call: None,
        }
    }

    /// The key of a node in counters, as `graph/node`.
    pub(super) fn place(&self, node: &Node) -> String {
        format!("{}/{}", self.frame().map_or("", |it| &it.graph), node.id)
    }

    pub(super) fn message_again(&mut self, node: &'c Node, data: &'c MessageData) -> Next {
        let options = self.say_message(data, &self.place(node));
        let kind = if data.waits == Some(Await::Any) { AwaitingKind::Any } else { AwaitingKind::Button };
        Next::Wait(self.awaiting(kind, node, options))
    }

    pub(super) async fn message_answered(&mut self, node: &'c Node, data: &'c MessageData, awaiting: Awaiting) -> Next {
        if let Some(option) = self.pressed(&awaiting.options) {
            let id = option.get("id").and_then(Value::as_str).unwrap_or_default();
            let port = format!("btn:{id}");
            self.trace("button", json!({"node": node.id, "button": id}));
            self.press(&option);
            let wired = self.graph().is_some_and(|it| it.wired(&node.id, &port));
            return Next::Port(if wired { port } else { "out".to_owned() });
        }
        if awaiting.kind == AwaitingKind::Any {
            return Next::Port("out".to_owned());
        }
        self.state.awaiting = Some(awaiting);
        match self.interrupt().await {
            Interrupt::Pushed => return Next::Entered,
            Interrupt::Talked => {
                self.state.awaiting = None;
                return self.message_again(node, data);
            }
            Interrupt::Ended => return Next::Stay,
            Interrupt::No => self.state.awaiting = None,
        }
        // The message is repeated once, then the node is left.
        let shown = self.state.counters.attempts.entry(self.place(node)).or_default();
        *shown += 1;
        if *shown == 1 {
            return self.message_again(node, data);
        }
        Next::Port("out".to_owned())
    }
}

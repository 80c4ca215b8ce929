//! The behavior of node types, one file each.

mod agent;
mod attempt;
mod entity;
mod intent;
mod message;
mod service;
mod set;
mod start_end;
mod subflow;
#[cfg(test)]
mod tests;
mod validate;
mod wire;

use super::Walk;
use super::fail::Failure;
use super::walk::Next;
use crate::config::flow::document::{Node, NodeKind};
use crate::flow::state::AwaitingKind;

impl<'c> Walk<'c> {
    /// Runs a node.
    pub(super) async fn enter(&mut self, node: &'c Node) -> Next {
        match &node.kind {
            NodeKind::Start(data) => self.start(data),
            NodeKind::End(data) => self.end(node, data),
            NodeKind::Intent(data) => self.intent(node, data),
            NodeKind::Message(data) => self.message(node, data),
            NodeKind::Entity(data) => self.entity(node, data),
            NodeKind::Decision | NodeKind::Router | NodeKind::Fallback(_) => Next::Port("out".to_owned()),
            NodeKind::Service(data) => self.service(node, data).await,
            NodeKind::Set(data) => self.set(data),
            NodeKind::Subflow(data) => self.subflow(node, data),
            NodeKind::InstructionAgent(data) => self.agent(node, data).await,
            NodeKind::Unavailable => {
                Next::Fail(Failure::new("unavailable", format!("nodes of the type '{}' cannot run yet", node.type_name)))
            }
        }
    }

    /// Delivers the event to the node that waits for it.
    pub(super) async fn deliver(&mut self, node: &'c Node) -> Next {
        let Some(awaiting) = self.state.awaiting.take() else { return Next::Stay };
        self.taken = true;
        match (&node.kind, awaiting.kind) {
            (NodeKind::Message(data), _) => self.message_answered(node, data, awaiting).await,
            (NodeKind::Entity(data), _) => self.entity_answered(node, data, awaiting).await,
            (NodeKind::Intent(data), AwaitingKind::Entity) => self.parameter_answered(node, data, awaiting).await,
            (NodeKind::InstructionAgent(data), _) => self.agent_answered(node, data, awaiting).await,
            // The document has changed since the node started to wait.
            _ => Next::Fail(Failure::new("not_waiting", "the node does not wait for anything")),
        }
    }

    /// Repeats the prompt of a node.
    pub(super) fn ask_again(&mut self, node: &'c Node) -> Next {
        match &node.kind {
            NodeKind::Message(data) => self.message_again(node, data),
            NodeKind::Entity(data) => self.entity_again(node, data),
            NodeKind::Intent(data) => self.parameter_again(node, data),
            NodeKind::InstructionAgent(data) => self.agent_again(node, data),
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Decision
            | NodeKind::Router
            | NodeKind::Service(_)
            | NodeKind::Set(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::Unavailable => Next::Stay,
        }
    }
}

//! The behavior of node types, one file each: a node does its work and says how the walk goes on. Which edge is taken is in `routes`.

mod agent;
mod entity;
mod handoff;
mod http_request;
mod http_retry;
mod intent;
mod knowledge;
mod message;
mod python;
mod remote_tool;
mod service;
mod service_call;
mod set;
mod start_end;
mod subflow;
mod typed_answer;

pub use http_request::is_retryable;
pub use http_retry::{parse_body, read_output, status_failure_code};

use convengine_config::flow::document::{Node, NodeKind};

use super::failure::Failure;
use super::state::AwaitingKind;
use super::transition::Transition;
use super::turn::Turn;

impl<'c> Turn<'c> {
    /// Runs a node.
    pub(super) async fn run_node(&mut self, node: &'c Node) -> Transition {
        // What these do with the values of slots is not known. A service node says it itself.
        if matches!(node.kind, NodeKind::InstructionAgent(_) | NodeKind::Handoff(_) | NodeKind::Program(_)) {
            self.finalize_filled_slots();
        }
        match &node.kind {
            NodeKind::Start(data) => self.run_start(data),
            NodeKind::End(data) => self.run_end(node, data),
            NodeKind::Intent(data) => self.run_intent(node, data),
            NodeKind::Message(data) => self.run_message(node, data),
            NodeKind::Entity(data) => self.run_entity(node, data),
            NodeKind::Decision(_) | NodeKind::Router(_) | NodeKind::Fallback(_) => Transition::out(),
            NodeKind::Service(data) => self.run_service(node, data).await,
            NodeKind::Set(data) => self.run_set(data),
            NodeKind::Subflow(data) => self.run_subflow(node, data),
            NodeKind::InstructionAgent(data) => self.enter_agent(node, data).await,
            NodeKind::Knowledge(data) => self.run_knowledge(data).await,
            NodeKind::Python(data) => self.run_python(node, data).await,
            NodeKind::Handoff(data) => self.run_handoff(node, data).await,
            NodeKind::Program(_) => Transition::RunProgram,
            NodeKind::Draft(_) => Transition::Fail(Failure::new("not_supported", format!("'{}' nodes do not run", node.type_name))),
        }
    }

    /// Delivers the event to the node that waits for it.
    pub(super) async fn deliver_event(&mut self, node: &'c Node) -> Transition {
        let Some(awaiting) = self.state.awaiting.take() else { return Transition::EndTurn };
        self.is_event_consumed = true;
        match (&node.kind, awaiting.kind) {
            (NodeKind::Message(data), _) => self.on_message_answer(node, data, awaiting).await,
            (NodeKind::Entity(data), _) => self.on_entity_answer(node, data, awaiting).await,
            (NodeKind::Intent(data), AwaitingKind::Entity) => self.on_parameter_answer(node, data, awaiting).await,
            (NodeKind::InstructionAgent(data), _) => self.on_agent_event(node, data, awaiting).await,
            // The document has changed since the node started to wait.
            _ => Transition::Fail(Failure::new("not_waiting", "the node does not wait for anything")),
        }
    }

    /// Repeats the prompt of a node.
    pub(super) fn reprompt_node(&mut self, node: &'c Node) -> Transition {
        match &node.kind {
            NodeKind::Message(data) => self.repeat_message(node, data),
            NodeKind::Entity(data) => self.reprompt_entity(node, data),
            NodeKind::Intent(data) => self.reprompt_parameter(node, data),
            NodeKind::InstructionAgent(data) => self.await_agent_again(node, data),
            NodeKind::Start(_)
            | NodeKind::End(_)
            | NodeKind::Decision(_)
            | NodeKind::Router(_)
            | NodeKind::Service(_)
            | NodeKind::Set(_)
            | NodeKind::Fallback(_)
            | NodeKind::Subflow(_)
            | NodeKind::Knowledge(_)
            | NodeKind::Python(_)
            | NodeKind::Handoff(_)
            | NodeKind::Program(_)
            | NodeKind::Draft(_) => Transition::EndTurn,
        }
    }
}

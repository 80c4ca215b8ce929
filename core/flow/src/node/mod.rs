//! The behavior of node types, one file each: a node does its work and says how the walk goes on. Which edge is taken is in `routes`.

mod agent;
mod branch;
mod draft;
mod entity;
mod handoff;
mod http_request;
mod http_retry;
mod intent;
mod knowledge;
mod message;
mod program;
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
use super::state::Awaiting;
use super::transition::Transition;
use super::turn::Turn;

/// What a type of nodes does, implemented for its data. One that neither waits nor asks has `run` alone.
trait RunNode {
    /// Does the work of the node, and says how the walk goes on.
    async fn run<'c>(&'c self, turn: &mut Turn<'c>, node: &'c Node) -> Transition;

    /// Takes the event for which the node waits.
    async fn on_event<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node, _: Awaiting) -> Transition {
        not_waiting()
    }

    /// Repeats the prompt of the node.
    fn reprompt<'c>(&'c self, _: &mut Turn<'c>, _: &'c Node) -> Transition {
        Transition::EndTurn
    }
}

/// The document has changed since the node started to wait.
fn not_waiting() -> Transition {
    Transition::Fail(Failure::new("not_waiting", "the node does not wait for anything"))
}

/// Calls a method of [`RunNode`] for the data of a node. A new type of nodes is a line here, and a file beside this one.
macro_rules! with_data {
    ($node:ident, $data:ident => $call:expr) => {
        match &$node.kind {
            NodeKind::Start($data) => $call,
            NodeKind::End($data) => $call,
            NodeKind::Intent($data) => $call,
            NodeKind::Message($data) => $call,
            NodeKind::Entity($data) => $call,
            NodeKind::Decision($data) => $call,
            NodeKind::Router($data) => $call,
            NodeKind::Service($data) => $call,
            NodeKind::Python($data) => $call,
            NodeKind::Set($data) => $call,
            NodeKind::Handoff($data) => $call,
            NodeKind::Fallback($data) => $call,
            NodeKind::Subflow($data) => $call,
            NodeKind::Knowledge($data) => $call,
            NodeKind::InstructionAgent($data) => $call,
            NodeKind::Program($data) => $call,
            NodeKind::Draft($data) => $call,
        }
    };
}

impl<'c> Turn<'c> {
    /// Runs a node.
    pub(super) async fn run_node(&mut self, node: &'c Node) -> Transition {
        if node.traits().finalizes_slots {
            self.finalize_filled_slots();
        }
        with_data!(node, data => data.run(self, node).await)
    }

    /// Delivers the event to the node that waits for it.
    pub(super) async fn deliver_event(&mut self, node: &'c Node) -> Transition {
        let Some(awaiting) = self.state.awaiting.take() else { return Transition::EndTurn };
        self.is_event_consumed = true;
        with_data!(node, data => data.on_event(self, node, awaiting).await)
    }

    /// Repeats the prompt of a node.
    pub(super) fn reprompt_node(&mut self, node: &'c Node) -> Transition {
        with_data!(node, data => data.reprompt(self, node))
    }
}

//! What takes an event, in any state of the session (docs/spec/flows.md#8).

use std::cmp::Ordering;

use convengine_config::flow::document::ProgramKind;
use convengine_turn::{Candidate, Verdict};
use serde_json::json;

use super::state::{AwaitingKind, FlowEvent, Resume, SessionStatus};
use super::turn::Turn;

/// What takes an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handler {
    /// A program that a node runs.
    Program,
    /// The person who has the conversation.
    Person,
    /// Nothing: the session has ended.
    Closed,
    /// The node that waits for an answer.
    WaitingNode,
    /// The node at which the migration has left the session.
    MigratedNode,
    /// The nodes of a program without intents.
    Nodes,
    /// The search for the intent of the message.
    Intents,
    /// The start of the session.
    Start,
    /// The timer that is armed.
    Timer,
    /// Nothing: the event comes too late.
    Late,
    /// The end of the session.
    End,
}

/// The handlers in the order in which they are tried: name, verdict, and the reason for passing it over.
const HANDLERS: [(Handler, &str, &str, &str); 11] = [
    (Handler::Program, "program", "another program, which a node runs, takes the event", "no node runs another program"),
    (Handler::Person, "person", "a person has the conversation and takes the event", "no person has the conversation"),
    (Handler::Closed, "closed", "the session has ended and takes no event", "the session is active"),
    (Handler::WaitingNode, "waiting_node", "the node waits for an answer and takes the event", "no node waits for an answer"),
    (
        Handler::MigratedNode,
        "migrated_node",
        "the session continues at the node where its migration left it",
        "the session has not been migrated to a node",
    ),
    (Handler::Nodes, "nodes", "the program has no intents: its nodes take the event", "the program is an assistant"),
    (Handler::Intents, "intents", "the intent of the message is searched", ""),
    (Handler::Start, "start", "the session starts", ""),
    (Handler::Timer, "timer", "the timer is armed and takes the event", ""),
    (Handler::Late, "late", "the event comes too late and changes nothing", ""),
    (Handler::End, "end", "the session ends", ""),
];

/// The number of handlers that are tried for every event.
const COMMON_HANDLERS: usize = 3;

/// The number of handlers that are tried for a message, a button or an approval.
const INPUT_HANDLERS: usize = 7;

impl Turn<'_> {
    /// Decides what takes the event, for a session that may not be active.
    pub(super) fn choose_common_handler(&self) -> Option<Handler> {
        if self.view().running_program().is_some() && !self.view().is_own_event() {
            return Some(Handler::Program);
        }
        match self.state.status {
            SessionStatus::Active => None,
            SessionStatus::HandedOff => Some(Handler::Person),
            SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Abandoned => Some(Handler::Closed),
        }
    }

    /// Decides what takes the event in an active session.
    pub(super) fn choose_handler(&self) -> Handler {
        match &self.event {
            FlowEvent::Start { .. } if self.state.seq > 1 => Handler::Late,
            FlowEvent::Start { .. } => Handler::Start,
            FlowEvent::Message { .. } | FlowEvent::Button { .. } => self.choose_input_handler(),
            FlowEvent::Timer { timer_id } => self.choose_timer_handler(timer_id),
            FlowEvent::Approval { .. } => {
                let is_asked = self.state.awaiting.as_ref().is_some_and(|it| it.kind == AwaitingKind::Approval);
                if is_asked { Handler::WaitingNode } else { Handler::Late }
            }
            FlowEvent::HandoffStatus { .. } | FlowEvent::HandoffMessage { .. } => Handler::Late,
            FlowEvent::End { .. } => Handler::End,
        }
    }

    /// Decides what takes a timer that has fired.
    pub(super) fn choose_timer_handler(&self, id: &str) -> Handler {
        if self.state.timers.iter().any(|it| it.id == id) { Handler::Timer } else { Handler::Late }
    }

    fn choose_input_handler(&self) -> Handler {
        if self.state.awaiting.is_some() {
            Handler::WaitingNode
        } else if self.state.frame().is_some_and(|frame| frame.resume == Some(Resume::After)) {
            Handler::MigratedNode
        } else if self.flow.kind == ProgramKind::Assistant {
            Handler::Intents
        } else {
            Handler::Nodes
        }
    }

    /// Explains which handler takes the event.
    pub(super) fn explain_dispatch(&self, handler: Handler) {
        let Some(explanation) = self.effects.begin_explanation("route") else { return };
        let at = HANDLERS.iter().position(|it| it.0 == handler).unwrap_or_default();
        let is_tried = |index: usize| index == at || index < COMMON_HANDLERS || at < INPUT_HANDLERS && index < INPUT_HANDLERS;
        let candidate = |(index, (_, name, _, reason)): (usize, &(Handler, &str, &str, &str))| {
            let (verdict, reason) = match index.cmp(&at) {
                Ordering::Less => (Verdict::NotMatched, *reason),
                Ordering::Equal => (Verdict::Won, ""),
                Ordering::Greater => (Verdict::NotReached, ""),
            };
            Candidate::for_choice("", name, verdict).with_reason(reason)
        };
        let rows = HANDLERS.iter().enumerate().filter(|it| is_tried(it.0)).map(candidate).collect();
        let button = if let FlowEvent::Button { button_id, .. } = &self.event { Some(button_id) } else { None };
        let timer = if let FlowEvent::Timer { timer_id } = &self.event { Some(timer_id) } else { None };
        let awaiting = self.state.awaiting.as_ref().map(|it| it.kind);
        let node = self.state.current_node_key();
        let about = json!({"event": self.event.name(), "node": node, "awaiting": awaiting, "button": button, "timer": timer});
        explanation.with_subject(about).with_candidates(rows).record(&self.effects, HANDLERS.get(at).map_or("", |it| it.2));
    }
}

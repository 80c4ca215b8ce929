//! The transfer of a session to a person: its state, and the events of the desk (docs/spec/flows.md#4.9).

use convengine_config::flow::document::{HandoffMode, NodeKind};
use convengine_text::variable_path::VariablePath;
use convengine_turn::{Map, StateMachine};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Walker;
use super::failure::Failure;
use super::walk::Transition;
use crate::state::{FlowEvent, SessionStatus};

/// The timer of a handoff that waits for a person.
pub(super) const HANDOFF_TIMER: &str = "handoff";

/// The warning for an event of the desk when nothing is handed off.
const LATE: &str = "handoff.late";

/// The warning for a person who takes a conversation that another one has.
const TAKEN: &str = "handoff.taken";

/// What a desk reports about a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffReport {
    /// A person has taken the conversation.
    Accepted,
    /// Nobody can take it.
    Failed,
    /// The person is done.
    Completed,
}

/// How a person has closed a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffDisposition {
    /// The matter is settled.
    Resolved,
    /// The assistant continues.
    Returned,
}

/// The progress of a handoff. Only those are stored in which a person has the conversation, or should have it.
///
/// ```
/// use convengine_flow::HandoffState;
/// use convengine_turn::{StateMachine, StateTransition};
///
/// let ways: Vec<_> = StateTransition::list::<HandoffState>().into_iter().filter(|row| row.state == "Accepted").collect();
/// assert!(ways.iter().any(|row| row.next == "Returned") && ways.iter().all(|row| row.next != "TimedOut"));
/// assert_eq!(HandoffState::NAME, "handoff");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffState {
    /// The desk is asked.
    Requested,
    /// It waits for a person.
    Queued,
    /// A person has taken it, or the desk has assigned one.
    Accepted,
    /// The assistant continues.
    Returned,
    /// The session has ended.
    Resolved,
    /// Nobody has taken it in time.
    TimedOut,
    /// Nobody can take it, or the desk could not be asked.
    Unavailable,
}

/// What happens to a handoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandoffEvent {
    /// The desk has put it in a queue, or there is no desk to be asked.
    Queue,
    /// A person takes it.
    Accept,
    /// The desk declines it, or cannot be asked.
    Decline,
    /// The person is done, and the assistant continues.
    Return,
    /// The person is done, and the session ends.
    Resolve,
    /// The time to wait for a person is over.
    TimeOut,
    /// The session is ended from outside.
    End,
}

impl StateMachine for HandoffState {
    type Event = HandoffEvent;

    const NAME: &'static str = "handoff";

    const TRANSITIONS: &'static [(HandoffState, HandoffEvent, HandoffState)] = &[
        (HandoffState::Requested, HandoffEvent::Queue, HandoffState::Queued),
        (HandoffState::Requested, HandoffEvent::Accept, HandoffState::Accepted),
        (HandoffState::Requested, HandoffEvent::Decline, HandoffState::Unavailable),
        (HandoffState::Queued, HandoffEvent::Accept, HandoffState::Accepted),
        (HandoffState::Queued, HandoffEvent::Decline, HandoffState::Unavailable),
        (HandoffState::Queued, HandoffEvent::Return, HandoffState::Returned),
        (HandoffState::Queued, HandoffEvent::Resolve, HandoffState::Resolved),
        (HandoffState::Queued, HandoffEvent::TimeOut, HandoffState::TimedOut),
        (HandoffState::Queued, HandoffEvent::End, HandoffState::Resolved),
        (HandoffState::Accepted, HandoffEvent::Accept, HandoffState::Accepted),
        (HandoffState::Accepted, HandoffEvent::Decline, HandoffState::Unavailable),
        (HandoffState::Accepted, HandoffEvent::Return, HandoffState::Returned),
        (HandoffState::Accepted, HandoffEvent::Resolve, HandoffState::Resolved),
        (HandoffState::Accepted, HandoffEvent::End, HandoffState::Resolved),
    ];
}

/// The transfer of a session to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handoff {
    /// Identifies the handoff towards the desk.
    pub correlation_id: String,
    /// The progress.
    pub state: HandoffState,
    /// The queue.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub queue: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of the desk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The position in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    /// The expected wait in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_ms: Option<u64>,
    /// The person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The credential of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When it was requested, in ISO 8601.
    pub requested_at: String,
}

impl Walker<'_> {
    /// Handles an event while a person has the conversation: nothing is matched or walked.
    pub(super) async fn dispatch_to_desk(&mut self) {
        match self.event.clone() {
            FlowEvent::Message { text, .. } => {
                self.state.turn += 1;
                let text = self.truncate_input(text);
                self.relay_to_desk(text).await;
            }
            FlowEvent::Button { .. } => {
                self.state.turn += 1;
                let text = self.input_text();
                self.relay_to_desk(text).await;
            }
            FlowEvent::HandoffMessage { text, author } => self.show_desk_message(&text, author),
            FlowEvent::HandoffStatus { state, disposition, vars, message, author, holder } => {
                if self.is_taken_by_another(author.as_deref(), holder.as_deref()) {
                    self.warn(TAKEN, json!({"author": author}));
                    self.is_late = true;
                    return;
                }
                if let Some(message) = &message {
                    self.show_desk_message(message, author.clone());
                }
                match state {
                    HandoffReport::Accepted => {
                        self.name_person(author, holder);
                        self.move_handoff(HandoffEvent::Accept).await;
                    }
                    HandoffReport::Failed => self.move_handoff(HandoffEvent::Decline).await,
                    HandoffReport::Completed => {
                        self.trace("handoff.completed", json!({"disposition": disposition}));
                        self.write_returned_variables(vars);
                        self.move_handoff(self.completion_event(disposition)).await;
                    }
                }
            }
            FlowEvent::Timer { timer_id } => self.on_timer(&timer_id).await,
            FlowEvent::Start { .. } => self.trace("session.begun", json!({})),
            FlowEvent::Approval { call_id, .. } => self.warn("approval.late", json!({"call_id": call_id})),
            FlowEvent::End { .. } => self.move_handoff(HandoffEvent::End).await,
        }
    }

    /// Moves the handoff, and does what its new state stands for. An event that cannot happen now is late.
    pub(super) async fn move_handoff(&mut self, event: HandoffEvent) {
        let state = self.state.handoff.as_ref().map_or(HandoffState::Queued, |it| it.state);
        let Some(next) = self.effects.take_transition(state, event) else { return self.reject_late_handoff() };
        match next {
            HandoffState::Requested | HandoffState::Queued | HandoffState::Accepted => {
                if let Some(handoff) = &mut self.state.handoff {
                    handoff.state = next;
                }
            }
            HandoffState::Returned => self.leave_handoff(Transition::Port("out".to_owned())).await,
            HandoffState::Resolved => {
                self.state.handoff = None;
                self.complete_session();
            }
            HandoffState::TimedOut => self.leave_handoff(Transition::Port("timeout".to_owned())).await,
            HandoffState::Unavailable => {
                self.leave_handoff(Transition::Fail(Failure::new("unavailable", "the desk has declined the conversation"))).await;
            }
        }
    }

    /// Rejects an event of the desk: nothing is handed off, or not any more.
    pub(super) fn reject_late_handoff(&mut self) {
        self.warn(LATE, json!({}));
        self.is_late = true;
    }

    /// Ends a turn whose message did not reach the desk; the person still has the conversation.
    pub(super) fn cancel_relay(&mut self, reason: &'static str) {
        self.warn("handoff.relay_failed", json!({"code": reason}));
        self.send_error();
        self.record.stop_reason = reason;
    }

    /// Sends a message of the user to the desk.
    async fn relay_to_desk(&mut self, text: String) {
        self.append_history("user", text.clone());
        self.send_relay(&text).await;
    }

    /// Shows a message of a person to the user.
    fn show_desk_message(&mut self, text: &str, author: Option<String>) {
        if !text.trim().is_empty() {
            self.publish_human_message(text, author);
        }
    }

    /// Whether another person has taken the conversation: of another credential, or, where one is unknown, of another name.
    fn is_taken_by_another(&self, author: Option<&str>, holder: Option<&str>) -> bool {
        let Some(handoff) = &self.state.handoff else { return false };
        let of_credentials = handoff.holder.as_deref().zip(holder);
        of_credentials.or(handoff.author.as_deref().zip(author)).is_some_and(|(first, second)| first != second)
    }

    /// Records who has taken the conversation.
    fn name_person(&mut self, author: Option<String>, holder: Option<String>) {
        self.trace("handoff.accepted", json!({"author": author}));
        if let Some(handoff) = &mut self.state.handoff {
            handoff.position = None;
            handoff.eta_ms = None;
            handoff.author = author.or(handoff.author.take());
            handoff.holder = holder.or(handoff.holder.take());
        }
    }

    /// Whether the assistant continues or the session ends, once the person is done.
    fn completion_event(&self, disposition: Option<HandoffDisposition>) -> HandoffEvent {
        let mode = match self.current_node().map(|it| &it.kind) {
            Some(NodeKind::Handoff(data)) => data.mode,
            // The document has changed since: the person decides.
            _ => HandoffMode::Transfer,
        };
        let is_over = mode == HandoffMode::Transfer && disposition != Some(HandoffDisposition::Returned);
        if is_over { HandoffEvent::Resolve } else { HandoffEvent::Return }
    }

    /// Writes what a person returns; only declared variables.
    fn write_returned_variables(&mut self, vars: Map) {
        for (name, value) in vars {
            let path = VariablePath::parse(&name).unwrap_or_else(|_| VariablePath::from_name(name.as_str()));
            let is_declared = self.flow.document.variables.iter().any(|it| path.starts_with(&it.name));
            if !is_declared || self.write_variable(&path, value).is_err() {
                self.warn("handoff.variable_ignored", json!({"variable": name}));
            }
        }
    }

    /// Makes the session active again and leaves the node.
    async fn leave_handoff(&mut self, transition: Transition) {
        self.state.status = SessionStatus::Active;
        self.state.handoff = None;
        self.state.awaiting = None;
        let Some(node) = self.current_node() else {
            self.abort_turn("no_node");
            return;
        };
        if self.apply_transition(node, transition).await {
            self.run_nodes().await;
        }
    }
}

//! The transfer of a session to a person: its states, and what moves it (docs/spec/flows.md#4.9).

use convengine_turn::StateMachine;
use serde::{Deserialize, Serialize};

/// The timer of a handoff that waits for a person.
pub(super) const HANDOFF_TIMER: &str = "handoff";

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
    /// Ticket number assigned by the desk.
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

//! The approval of a tool call by a person, in tables and in documents. (docs/decisions/0049-approval-of-tool-calls.md)

use super::state_machine::StateMachine;

/// The progress of a call that needs approval. It lasts longer than a turn: the question ends one, and the answer begins another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallApproval {
    /// A model, a rule or a row wants the call.
    Planned,
    /// A person has been asked.
    Asked,
    /// A person has said yes: exactly this call is made.
    Approved,
    /// A person has said no.
    Rejected,
    /// The question does not count any more, and the call is not made.
    Withdrawn,
}

/// What happens to a call that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallApprovalEvent {
    /// The turn asks.
    Ask,
    /// A yes in time, and the call can be made.
    Approve,
    /// A no.
    Reject,
    /// A yes with edited arguments that are not valid.
    Defer,
    /// What ends the question without an answer: in tables another message, in a document that it no longer has the tool.
    Withdraw,
}

impl StateMachine for CallApproval {
    type Event = CallApprovalEvent;

    const NAME: &'static str = "approval";

    const TRANSITIONS: &'static [(CallApproval, CallApprovalEvent, CallApproval)] = &[
        (CallApproval::Planned, CallApprovalEvent::Ask, CallApproval::Asked),
        (CallApproval::Asked, CallApprovalEvent::Approve, CallApproval::Approved),
        (CallApproval::Asked, CallApprovalEvent::Reject, CallApproval::Rejected),
        (CallApproval::Asked, CallApprovalEvent::Defer, CallApproval::Asked),
        (CallApproval::Asked, CallApprovalEvent::Withdraw, CallApproval::Withdrawn),
    ];
}

impl CallApproval {
    /// The state in traces.
    pub fn name(self) -> &'static str {
        match self {
            CallApproval::Planned => "planned",
            CallApproval::Asked => "asked",
            CallApproval::Approved => "approved",
            CallApproval::Rejected => "rejected",
            CallApproval::Withdrawn => "withdrawn",
        }
    }
}

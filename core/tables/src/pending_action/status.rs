//! The statuses of a pending action, and what moves it from one to the next. (docs/spec/pipeline.md#2.10)

use convengine_turn::StateMachine;

/// The lifecycle status of a pending action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionStatus {
    /// There is no action yet, or no single one: several compete, or the lifecycle is off and earlier turns do not count.
    Absent,
    /// Waiting for the user's confirmation.
    Open,
    /// Confirmed by the user.
    InProgress,
    /// Executed.
    Executed,
    /// Rejected by the user.
    Rejected,
    /// Not answered in time.
    Expired,
    /// Execution failed.
    Failed,
}

/// What happens to a pending action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionEvent {
    /// A turn offers an action that is not open yet.
    Offer,
    /// The user says yes.
    Confirm,
    /// The user says no, or the turn drops what the user said no to.
    Reject,
    /// The limit of turns or of time has passed.
    Expire,
    /// The decision of this turn does not count, because the message needs an approval first.
    Undo,
    /// The task has succeeded.
    Succeed,
    /// The task has failed, or there is none.
    Fail,
}

impl StateMachine for ActionStatus {
    type Event = ActionEvent;

    const NAME: &'static str = "pending_action";

    const TRANSITIONS: &'static [(ActionStatus, ActionEvent, ActionStatus)] = &[
        (ActionStatus::Absent, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::Absent, ActionEvent::Reject, ActionStatus::Rejected),
        (ActionStatus::Absent, ActionEvent::Succeed, ActionStatus::Executed),
        (ActionStatus::Absent, ActionEvent::Fail, ActionStatus::Failed),
        (ActionStatus::Open, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::Open, ActionEvent::Confirm, ActionStatus::InProgress),
        (ActionStatus::Open, ActionEvent::Reject, ActionStatus::Rejected),
        (ActionStatus::Open, ActionEvent::Expire, ActionStatus::Expired),
        (ActionStatus::InProgress, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::InProgress, ActionEvent::Confirm, ActionStatus::InProgress),
        (ActionStatus::InProgress, ActionEvent::Reject, ActionStatus::Rejected),
        (ActionStatus::InProgress, ActionEvent::Expire, ActionStatus::Expired),
        (ActionStatus::InProgress, ActionEvent::Undo, ActionStatus::Open),
        (ActionStatus::InProgress, ActionEvent::Succeed, ActionStatus::Executed),
        (ActionStatus::InProgress, ActionEvent::Fail, ActionStatus::Failed),
        (ActionStatus::Executed, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::Rejected, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::Rejected, ActionEvent::Reject, ActionStatus::Rejected),
        (ActionStatus::Rejected, ActionEvent::Undo, ActionStatus::Open),
        (ActionStatus::Expired, ActionEvent::Offer, ActionStatus::Open),
        (ActionStatus::Expired, ActionEvent::Reject, ActionStatus::Rejected),
        (ActionStatus::Failed, ActionEvent::Offer, ActionStatus::Open),
    ];
}

const NAMES: [(&str, ActionStatus); 7] = [
    ("", ActionStatus::Absent),
    ("OPEN", ActionStatus::Open),
    ("IN_PROGRESS", ActionStatus::InProgress),
    ("EXECUTED", ActionStatus::Executed),
    ("REJECTED", ActionStatus::Rejected),
    ("EXPIRED", ActionStatus::Expired),
    ("FAILED", ActionStatus::Failed),
];

impl ActionStatus {
    /// The spelling in context, parameters and audits.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|it| it.1 == self).map_or("", |it| it.0)
    }

    /// Parses the spelling; anything else is no action.
    pub fn parse(name: &str) -> ActionStatus {
        NAMES.iter().find(|it| it.0 == name).map_or(ActionStatus::Absent, |it| it.1)
    }
}

//! The members of an event of a session that the host sets, and no caller.

/// The sequence number of the session that armed the timer of a `timer.fired` event.
pub const ARMED_SEQ: &str = "of_seq";

/// Who the user is, when that is known after the start of the session: `{"user"?, "visitor"?}`.
pub const IDENTITY: &str = "identity";

/// All of them. They may differ when an event is sent again.
pub const HOST_MEMBERS: [&str; 11] = [
    "assistant",
    "program",
    "version",
    "deployment",
    "budget_left",
    "phrase_vectors",
    "migrated",
    "stepwise",
    "paused",
    IDENTITY,
    ARMED_SEQ,
];

//! How turns are launched.

/// How a turn is launched. The functions of `Turn` in `convengine-core` choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchMode {
    /// For a replay: defers the end of the turn until its journal ends.
    pub defer_end: bool,
    /// Whether it is a replay, which records the nodes and ports of a flow.
    pub is_replay: bool,
    /// What is recorded of the session.
    pub observation: Observation,
}

/// What is recorded of a turn's session, for observers. It changes neither the notices nor the outcome; it costs a copy of the session at
/// each step or audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observation {
    /// Nothing; used for ordinary messages.
    Nothing,
    /// The session before and after each step, and explanations.
    Steps,
    /// The session at each audit.
    Audits,
}

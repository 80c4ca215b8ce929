//! States that move by a table of transitions only. What is not in the table cannot happen.
//!
//! The tables are drawn in docs/reference/states.md, and a test of the corpus takes each row.

use std::fmt::Debug;

/// A state that moves by a table.
///
/// ```
/// use convengine_turn::{BreakerEvent, BreakerState, StateMachine};
///
/// assert_eq!(BreakerState::Closed.next(BreakerEvent::Trip), Some(BreakerState::Open));
/// assert_eq!(BreakerState::Closed.next(BreakerEvent::Probe), None, "only an open circuit is probed");
/// ```
pub trait StateMachine: Copy + Eq + Debug + 'static {
    /// What moves it.
    type Event: Copy + Eq + Debug + 'static;

    /// The name in the reference.
    const NAME: &'static str;

    /// All that can happen: a state, an event, and the next state. The first state is where it begins.
    const TRANSITIONS: &'static [(Self, Self::Event, Self)];

    /// The next state; `None` when the event cannot happen in this state.
    fn next(self, event: Self::Event) -> Option<Self> {
        Self::TRANSITIONS.iter().find(|&&(from, trigger, _)| from == self && trigger == event).map(|it| it.2)
    }
}

/// A row of a table of transitions, or a transition that a turn has taken, with the names that the code has for them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateTransition {
    /// The name of the state machine.
    pub machine: &'static str,
    /// The state before.
    pub state: String,
    /// What happened.
    pub event: String,
    /// The state after.
    pub next: String,
}

impl StateTransition {
    pub(super) fn new<S: StateMachine>(state: S, event: S::Event, next: S) -> StateTransition {
        StateTransition { machine: S::NAME, state: format!("{state:?}"), event: format!("{event:?}"), next: format!("{next:?}") }
    }

    /// The rows of a table, in its order.
    pub fn list<S: StateMachine>() -> Vec<StateTransition> {
        S::TRANSITIONS.iter().map(|(state, event, next)| StateTransition::new(*state, *event, *next)).collect()
    }
}

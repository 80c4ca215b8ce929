//! The states that move by a table of transitions.

use convengine_turn::{BreakerState, CallApproval, Transition};

/// Returns the tables, one after the other; each row names its state machine.
pub fn list_transitions() -> Vec<Transition> {
    let mut transitions = Vec::new();
    #[cfg(feature = "tables")]
    transitions.extend(Transition::list::<convengine_tables::pending_action::ActionStatus>());
    transitions.extend(Transition::list::<CallApproval>());
    #[cfg(feature = "flows")]
    transitions.extend(Transition::list::<convengine_flow::HandoffState>());
    #[cfg(feature = "flows")]
    transitions.extend(Transition::list::<convengine_flow::chain::StepStatus>());
    transitions.extend(Transition::list::<BreakerState>());
    transitions
}

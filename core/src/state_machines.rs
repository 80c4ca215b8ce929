//! The states that move by a table of transitions.

use convengine_turn::{BreakerState, CallApproval, StateTransition};

/// Returns the tables, one after the other; each row names its state machine.
pub fn list_transitions() -> Vec<StateTransition> {
    let mut transitions = Vec::new();
    #[cfg(feature = "tables")]
    transitions.extend(StateTransition::list::<convengine_tables::pending_action::ActionStatus>());
    transitions.extend(StateTransition::list::<CallApproval>());
    #[cfg(feature = "flows")]
    transitions.extend(StateTransition::list::<convengine_flow::HandoffState>());
    #[cfg(feature = "flows")]
    transitions.extend(StateTransition::list::<convengine_flow::chain::StepStatus>());
    transitions.extend(StateTransition::list::<BreakerState>());
    transitions
}

//! The states that move by a table of transitions.

use convengine_turn::{BreakerState, CallApproval, StateTransition};

/// Returns the tables, one after the other; each row names its state machine. Those of a feature that is off are missing.
///
/// A test that collects [`Turn::transitions`](crate::turn::Turn::transitions) of its conversations can tell from it which ones it has not
/// seen.
///
/// ```
/// use convengine_core::list_transitions;
///
/// let transitions = list_transitions();
/// let opens = transitions.iter().find(|row| row.machine == "circuit_breaker" && row.event == "Trip").ok_or("no such row")?;
/// assert_eq!((opens.state.as_str(), opens.next.as_str()), ("Closed", "Open"));
/// # Ok::<(), &str>(())
/// ```
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

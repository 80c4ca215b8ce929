//! The state of one run of the planner loop, and the ways in which it ends.

use convengine_config::Tool;

use super::lifecycle;
use super::loop_state::LoopState;
use super::observation::ToolObservation;
use crate::session::UNCONFIRMED;
use crate::step_context::StepContext;

/// The step's name in progress messages.
pub(super) const STEP: &str = "McpToolStep";

/// The answer after too many failures.
const FAILED_ANSWER: &str = "I could not look that up just now. Please try again.";

/// The state of one run of the loop.
pub(super) struct PlannerRun<'c> {
    pub tools: Vec<&'c Tool>,
    pub observations: Vec<ToolObservation>,
    /// Signatures of calls that succeeded.
    pub succeeded_calls: Vec<String>,
    /// Signatures of failed calls whose outcome is unknown.
    pub uncertain_calls: Vec<String>,
    /// The signature of the call that the user has approved, until it is made.
    pub approved_call: Option<String>,
    /// Whether a call that changes something has succeeded.
    pub has_changed_something: bool,
    /// Number of failed calls.
    pub error_count: usize,
    /// Number of the current plan, from 1.
    pub round: usize,
}

impl<'c> PlannerRun<'c> {
    /// A run that has not called anything yet.
    pub fn new(tools: Vec<&'c Tool>) -> PlannerRun<'c> {
        PlannerRun {
            tools,
            observations: Vec::new(),
            succeeded_calls: Vec::new(),
            uncertain_calls: Vec::new(),
            approved_call: None,
            has_changed_something: false,
            error_count: 0,
            round: 0,
        }
    }
}

/// How the loop continues after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Ask the planner again.
    Plan,
    /// End the loop.
    End,
}

/// Ends the loop with a failure.
pub(super) fn end_with_failure(cx: &mut StepContext<'_>, state: LoopState<'_>) -> NextStep {
    end_with_answer(cx, FAILED_ANSWER, state);
    NextStep::End
}

/// Ends the loop because the outcome of a call is unknown.
pub(super) fn end_uncertain(cx: &mut StepContext<'_>, state: LoopState<'_>) -> NextStep {
    end_with_answer(cx, UNCONFIRMED, state);
    NextStep::End
}

/// Records the answer and the state that led to it.
pub(super) fn end_with_answer(cx: &mut StepContext<'_>, answer: &str, state: LoopState<'_>) {
    lifecycle::record_answer(&mut cx.session, answer);
    lifecycle::record_state(&mut cx.session, state);
}

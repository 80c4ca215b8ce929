//! The status of the planner loop at one point, as rules spell it. (docs/spec/tools.md#2.3.5)

use super::plan::Plan;

/// The status of the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopStatus {
    /// The guardrail blocks tools.
    GuardrailBlocked,
    /// The schema is incomplete.
    SchemaIncomplete,
    /// The message is not a request.
    OtherAct,
    /// The message is only a greeting.
    Greeting,
    /// No tool is in scope.
    NoTools,
    /// Each tool in scope changes something, and the user has not confirmed.
    Unconfirmed,
    /// A call is planned or has succeeded.
    InProgress,
    /// A call failed; the planner runs again.
    Failing,
    /// There is an answer.
    Answered,
    /// The planned call is not allowed.
    Blocked,
    /// Too many failures.
    Failed,
    /// The planned call waits for the user's approval.
    ApprovalRequired,
}

impl LoopStatus {
    /// `mcp_status`
    pub fn name(self) -> &'static str {
        self.status_and_outcome().0
    }

    /// Status and outcome, as rules spell them.
    pub fn status_and_outcome(self) -> (&'static str, &'static str) {
        match self {
            LoopStatus::GuardrailBlocked => ("SKIPPED_BY_GUARDRAIL", "SKIPPED"),
            LoopStatus::SchemaIncomplete => ("SKIPPED_SCHEMA_INCOMPLETE", "SKIPPED"),
            LoopStatus::OtherAct => ("SKIPPED_DIALOGUE_ACT", "SKIPPED"),
            LoopStatus::Greeting => ("SKIPPED_GREETING", "SKIPPED"),
            LoopStatus::NoTools => ("NO_TOOLS_FOR_SCOPE", "NO_TOOLS"),
            LoopStatus::Unconfirmed => ("SKIPPED_UNCONFIRMED", "SKIPPED"),
            LoopStatus::InProgress => ("TOOL_RESULT", "IN_PROGRESS"),
            LoopStatus::Failing => ("TOOL_ERROR", "IN_PROGRESS"),
            LoopStatus::Answered => ("ANSWER", "ANSWERED"),
            LoopStatus::Blocked => ("GUARDRAIL_BLOCKED_NEXT_TOOL", "BLOCKED"),
            LoopStatus::Failed => ("TOOL_ERROR", "ERROR"),
            LoopStatus::ApprovalRequired => ("APPROVAL_REQUIRED", "WAITING"),
        }
    }

    /// Whether the loop has ended.
    pub fn is_finished(self) -> bool {
        !matches!(self, LoopStatus::InProgress | LoopStatus::Failing)
    }
}

/// The state of the loop at one point.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopState<'m> {
    pub status: LoopStatus,
    /// The error message, if any.
    pub message: Option<&'m str>,
    pub plan: Option<&'m Plan>,
    /// The tool's group, once the tool is known.
    pub group: Option<&'m str>,
}

impl<'m> LoopState<'m> {
    /// A state without a plan.
    pub fn new(status: LoopStatus) -> LoopState<'m> {
        LoopState { status, message: None, plan: None, group: None }
    }

    /// The state of a plan.
    pub fn for_plan(status: LoopStatus, plan: &'m Plan) -> LoopState<'m> {
        LoopState { plan: Some(plan), ..LoopState::new(status) }
    }

    /// Returns the state with an error message.
    pub fn with_message(self, message: &'m str) -> LoopState<'m> {
        LoopState { message: Some(message), ..self }
    }
}

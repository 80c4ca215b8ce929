//! The loop's state as rules see it: `context.mcp` and the `mcp_*` parameters. (docs/spec/tools.md#2.3.5)

use serde_json::{Value, json};

use super::plan::{Plan, PlanAction};
use super::semantic;
use crate::session::Session;
use crate::tool;
use crate::turn::Map;

/// Members of `context.mcp` that belong to one turn.
const TURN_MEMBERS: [&str; 8] = [
    "finalAnswer",
    "finalAnswerDetermined",
    "toolExecutionAbrupted",
    "toolExecutionAbruptionLimit",
    "toolExecutionError",
    "observations",
    "lifecycle",
    "semantic",
];

/// Parameters that belong to one turn.
const TURN_PARAMS: [&str; 8] = [
    "mcp_action",
    "mcp_status",
    "mcp_tool_code",
    "mcp_tool_group",
    "mcp_tool_args",
    "mcp_operation_tag",
    "mcp_observations",
    "mcp_final_answer",
];

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
}

impl LoopStatus {
    /// `mcp_status`
    pub fn name(self) -> &'static str {
        self.status_and_outcome().0
    }

    /// Status and outcome, as rules spell them.
    fn status_and_outcome(self) -> (&'static str, &'static str) {
        match self {
            LoopStatus::GuardrailBlocked => ("SKIPPED_BY_GUARDRAIL", "SKIPPED"),
            LoopStatus::SchemaIncomplete => ("SKIPPED_SCHEMA_INCOMPLETE", "SKIPPED"),
            LoopStatus::OtherAct => ("SKIPPED_DIALOGUE_ACT", "SKIPPED"),
            LoopStatus::Greeting => ("SKIPPED_GREETING", "SKIPPED"),
            LoopStatus::NoTools => ("NO_TOOLS_FOR_SCOPE", "NO_TOOLS"),
            LoopStatus::InProgress => ("TOOL_RESULT", "IN_PROGRESS"),
            LoopStatus::Failing => ("TOOL_ERROR", "IN_PROGRESS"),
            LoopStatus::Answered => ("ANSWER", "ANSWERED"),
            LoopStatus::Blocked => ("GUARDRAIL_BLOCKED_NEXT_TOOL", "BLOCKED"),
            LoopStatus::Failed => ("TOOL_ERROR", "ERROR"),
        }
    }

    fn is_finished(self) -> bool {
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

/// Removes the results of earlier turns. (docs/decisions/README.md#D-5, docs/decisions/README.md#D-6)
pub(super) fn clear_previous_turn(session: &mut Session) {
    TURN_PARAMS.iter().for_each(|it| {
        session.params.shift_remove(*it);
    });
    tool::change_mcp_context(session, |node| node.retain(|key, _| !TURN_MEMBERS.contains(&key.as_str())));
}

/// Initializes the loop's context.
pub(super) fn open_loop(session: &mut Session, limit: usize) {
    tool::change_mcp_context(session, |node| {
        node.insert("finalAnswerDetermined".to_owned(), json!(false));
        node.insert("toolExecutionAbrupted".to_owned(), json!(false));
        node.insert("toolExecutionAbruptionLimit".to_owned(), json!(limit));
    });
}

/// Records that the loop ended without an answer.
pub(super) fn mark_unanswered(session: &mut Session) {
    tool::change_mcp_context(session, |node| {
        node.insert("toolExecutionAbrupted".to_owned(), json!(true));
    });
}

/// Records a state in the context and its status as a parameter.
pub(super) fn record_state(session: &mut Session, state: LoopState<'_>) {
    session.set_param("mcp_status", state.status.name());
    record_state_in_context(session, state);
}

/// Records a state in the context only.
pub(super) fn record_state_in_context(session: &mut Session, state: LoopState<'_>) {
    let lifecycle = lifecycle_members(state);
    let (status, outcome) = state.status.status_and_outcome();
    tool::change_mcp_context(session, |node| {
        node.insert("lifecycle".to_owned(), Value::Object(lifecycle));
        semantic::record_step(node, state, status, outcome);
    });
}

fn lifecycle_members(state: LoopState<'_>) -> Map {
    let loop_status = state.status;
    let (status, outcome) = loop_status.status_and_outcome();
    let code = state.plan.and_then(|it| it.code.as_ref());
    let args = state.plan.map(|it| &it.args).filter(|it| !it.is_empty());
    let always = [
        ("phase", json!("POST_AGENT_MCP")),
        ("status", json!(status)),
        ("outcome", json!(outcome)),
        ("finished", json!(loop_status.is_finished())),
        ("blocked", json!(loop_status == LoopStatus::Blocked)),
        ("error", json!(matches!(loop_status, LoopStatus::Failing | LoopStatus::Failed))),
        ("toolExecuted", json!(loop_status == LoopStatus::InProgress)),
    ];
    let sometimes = [
        ("lastAction", state.plan.map(|it| json!(it.reported_action(loop_status).name()))),
        ("lastToolCode", code.map(|it| json!(it))),
        ("lastToolArgs", args.map(|it| json!(it))),
        ("lastToolGroup", state.group.map(|it| json!(it))),
        ("errorMessage", state.message.map(|it| json!(it))),
    ];
    let sometimes = sometimes.into_iter().filter_map(|(key, value)| Some((key, value?)));
    always.into_iter().chain(sometimes).map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Plan {
    /// The action to report: `ANSWER` once there is an answer.
    pub(super) fn reported_action(&self, status: LoopStatus) -> PlanAction {
        if status == LoopStatus::Answered { PlanAction::Answer } else { self.action }
    }
}

/// Records the answer of the loop.
pub(super) fn record_answer(session: &mut Session, text: &str) {
    session.set_param("mcp_final_answer", text);
    tool::change_mcp_context(session, |node| {
        node.insert("finalAnswer".to_owned(), json!(text));
        node.insert("finalAnswerDetermined".to_owned(), json!(true));
    });
}

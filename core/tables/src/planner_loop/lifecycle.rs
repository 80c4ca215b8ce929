//! The loop's state as rules see it: `context.mcp` and the `mcp_*` parameters. (docs/spec/tools.md#2.3.5)

use convengine_turn::Map;
use serde_json::{Value, json};

use super::loop_state::{LoopState, LoopStatus};
use super::plan::{Plan, PlanAction};
use super::semantic;
use crate::session::Session;
use crate::tool;

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

/// Removes the results of earlier turns. (docs/spec/tools.md#D-5, docs/spec/tools.md#D-6)
pub(super) fn clear_previous_turn(session: &mut Session) {
    for param in TURN_PARAMS {
        session.params.shift_remove(param);
    }
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
    let code = state.plan.and_then(|plan| plan.code.as_ref());
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
        ("lastAction", state.plan.map(|plan| json!(plan.reported_action(loop_status).name()))),
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

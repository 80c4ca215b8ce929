//! The loop's state as rules see it: `context.mcp` and the `mcp_*` parameters. (docs/spec/tools.md#2.3.5)

use serde_json::{Value, json};

use super::plan::{Action, Plan};
use super::semantic;
use crate::session::Session;
use crate::tool;
use crate::turn::Map;

/// Members of `context.mcp` that belong to one turn.
const MEMBERS: [&str; 8] = [
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
const PARAMS: [&str; 8] = [
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
pub(super) enum Standing {
    /// The guardrail blocks tools.
    Guarded,
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

impl Standing {
    /// `mcp_status`
    pub fn status(self) -> &'static str {
        self.names().0
    }

    /// Status and outcome, as rules spell them.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Standing::Guarded => ("SKIPPED_BY_GUARDRAIL", "SKIPPED"),
            Standing::SchemaIncomplete => ("SKIPPED_SCHEMA_INCOMPLETE", "SKIPPED"),
            Standing::OtherAct => ("SKIPPED_DIALOGUE_ACT", "SKIPPED"),
            Standing::Greeting => ("SKIPPED_GREETING", "SKIPPED"),
            Standing::NoTools => ("NO_TOOLS_FOR_SCOPE", "NO_TOOLS"),
            Standing::InProgress => ("TOOL_RESULT", "IN_PROGRESS"),
            Standing::Failing => ("TOOL_ERROR", "IN_PROGRESS"),
            Standing::Answered => ("ANSWER", "ANSWERED"),
            Standing::Blocked => ("GUARDRAIL_BLOCKED_NEXT_TOOL", "BLOCKED"),
            Standing::Failed => ("TOOL_ERROR", "ERROR"),
        }
    }

    fn finished(self) -> bool {
        !matches!(self, Standing::InProgress | Standing::Failing)
    }
}

/// The state of the loop at one point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'m> {
    pub standing: Standing,
    /// The error message, if any.
    pub message: Option<&'m str>,
    pub plan: Option<&'m Plan>,
    /// The tool's group, once the tool is known.
    pub group: Option<&'m str>,
}

impl<'m> Moment<'m> {
    /// A state without a plan.
    pub fn new(status: Standing) -> Moment<'m> {
        Moment { standing: status, message: None, plan: None, group: None }
    }

    /// The state of a plan.
    pub fn of(status: Standing, plan: &'m Plan) -> Moment<'m> {
        Moment { plan: Some(plan), ..Moment::new(status) }
    }

    /// Returns the state with an error message.
    pub fn because(self, message: &'m str) -> Moment<'m> {
        Moment { message: Some(message), ..self }
    }
}

/// Removes the results of earlier turns. (docs/decisions/README.md#D-5, docs/decisions/README.md#D-6)
pub(super) fn forget(session: &mut Session) {
    PARAMS.iter().for_each(|it| {
        session.params.shift_remove(*it);
    });
    tool::change(session, |node| node.retain(|key, _| !MEMBERS.contains(&key.as_str())));
}

/// Initializes the loop's context.
pub(super) fn open(session: &mut Session, limit: usize) {
    tool::change(session, |node| {
        node.insert("finalAnswerDetermined".to_owned(), json!(false));
        node.insert("toolExecutionAbrupted".to_owned(), json!(false));
        node.insert("toolExecutionAbruptionLimit".to_owned(), json!(limit));
    });
}

/// Records that the loop ended without an answer.
pub(super) fn abrupt(session: &mut Session) {
    tool::change(session, |node| {
        node.insert("toolExecutionAbrupted".to_owned(), json!(true));
    });
}

/// Records a state in the context and its status as a parameter.
pub(super) fn note(session: &mut Session, state: Moment<'_>) {
    session.set_param("mcp_status", state.standing.status());
    sketch(session, state);
}

/// Records a state in the context only.
pub(super) fn sketch(session: &mut Session, state: Moment<'_>) {
    let lifecycle = lifecycle(state);
    let (status, outcome) = state.standing.names();
    tool::change(session, |node| {
        node.insert("lifecycle".to_owned(), Value::Object(lifecycle));
        semantic::step(node, state, status, outcome);
    });
}

fn lifecycle(state: Moment<'_>) -> Map {
    let loop_status = state.standing;
    let (status, outcome) = loop_status.names();
    let code = state.plan.and_then(|it| it.code.as_ref());
    let args = state.plan.map(|it| &it.args).filter(|it| !it.is_empty());
    let always = [
        ("phase", json!("POST_AGENT_MCP")),
        ("status", json!(status)),
        ("outcome", json!(outcome)),
        ("finished", json!(loop_status.finished())),
        ("blocked", json!(loop_status == Standing::Blocked)),
        ("error", json!(matches!(loop_status, Standing::Failing | Standing::Failed))),
        ("toolExecuted", json!(loop_status == Standing::InProgress)),
    ];
    let sometimes = [
        ("lastAction", state.plan.map(|it| json!(it.action_at(loop_status).name()))),
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
    pub(super) fn action_at(&self, status: Standing) -> Action {
        if status == Standing::Answered { Action::Answer } else { self.action }
    }
}

/// Records the answer of the loop.
pub(super) fn answer(session: &mut Session, text: &str) {
    session.set_param("mcp_final_answer", text);
    tool::change(session, |node| {
        node.insert("finalAnswer".to_owned(), json!(text));
        node.insert("finalAnswerDetermined".to_owned(), json!(true));
    });
}

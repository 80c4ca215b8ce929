//! What rules see of the loop: `context.mcp` and the `mcp_*` parameters. (`spec/mcp-and-semantic.md` 2.3.5)

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

/// How far the loop has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The guardrail holds tools back.
    Guarded,
    /// Values are still collected.
    SchemaIncomplete,
    /// The message is no request.
    OtherAct,
    /// The message only says hello.
    Greeting,
    /// No tool is in scope.
    NoTools,
    /// A call is planned or has succeeded.
    InProgress,
    /// A call has failed, and the planner is asked again.
    Failing,
    /// There is an answer.
    Answered,
    /// The planned call is not allowed.
    Blocked,
    /// Too much has failed.
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

/// A moment of the loop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'m> {
    pub standing: Standing,
    /// Why it is so, where something is wrong.
    pub message: Option<&'m str>,
    pub plan: Option<&'m Plan>,
    /// The tool's group, once the tool is known.
    pub group: Option<&'m str>,
}

impl<'m> Moment<'m> {
    /// A moment without a plan.
    pub fn new(standing: Standing) -> Moment<'m> {
        Moment { standing, message: None, plan: None, group: None }
    }

    /// A moment of a plan.
    pub fn of(standing: Standing, plan: &'m Plan) -> Moment<'m> {
        Moment { plan: Some(plan), ..Moment::new(standing) }
    }

    /// The same, with why it is so.
    pub fn because(self, message: &'m str) -> Moment<'m> {
        Moment { message: Some(message), ..self }
    }
}

/// Drops what an earlier turn left. (D-5, D-6)
pub(super) fn forget(session: &mut Session) {
    PARAMS.iter().for_each(|it| {
        session.params.shift_remove(*it);
    });
    tool::change(session, |node| node.retain(|key, _| !MEMBERS.contains(&key.as_str())));
}

/// Opens the loop.
pub(super) fn open(session: &mut Session, limit: usize) {
    tool::change(session, |node| {
        node.insert("finalAnswerDetermined".to_owned(), json!(false));
        node.insert("toolExecutionAbrupted".to_owned(), json!(false));
        node.insert("toolExecutionAbruptionLimit".to_owned(), json!(limit));
    });
}

/// Notes that the loop ended without an answer.
pub(super) fn abrupt(session: &mut Session) {
    tool::change(session, |node| {
        node.insert("toolExecutionAbrupted".to_owned(), json!(true));
    });
}

/// Notes a moment, and its status as a parameter.
pub(super) fn note(session: &mut Session, moment: Moment<'_>) {
    session.set_param("mcp_status", moment.standing.status());
    sketch(session, moment);
}

/// Notes a moment in the context alone.
pub(super) fn sketch(session: &mut Session, moment: Moment<'_>) {
    let lifecycle = lifecycle(moment);
    let (status, outcome) = moment.standing.names();
    tool::change(session, |node| {
        node.insert("lifecycle".to_owned(), Value::Object(lifecycle));
        semantic::step(node, moment, status, outcome);
    });
}

fn lifecycle(moment: Moment<'_>) -> Map {
    let standing = moment.standing;
    let (status, outcome) = standing.names();
    let code = moment.plan.and_then(|it| it.code.as_ref());
    let args = moment.plan.map(|it| &it.args).filter(|it| !it.is_empty());
    let always = [
        ("phase", json!("POST_AGENT_MCP")),
        ("status", json!(status)),
        ("outcome", json!(outcome)),
        ("finished", json!(standing.finished())),
        ("blocked", json!(standing == Standing::Blocked)),
        ("error", json!(matches!(standing, Standing::Failing | Standing::Failed))),
        ("toolExecuted", json!(standing == Standing::InProgress)),
    ];
    let sometimes = [
        ("lastAction", moment.plan.map(|it| json!(it.action_at(standing).name()))),
        ("lastToolCode", code.map(|it| json!(it))),
        ("lastToolArgs", args.map(|it| json!(it))),
        ("lastToolGroup", moment.group.map(|it| json!(it))),
        ("errorMessage", moment.message.map(|it| json!(it))),
    ];
    let sometimes = sometimes.into_iter().filter_map(|(key, value)| Some((key, value?)));
    always.into_iter().chain(sometimes).map(|(key, value)| (key.to_owned(), value)).collect()
}

impl Plan {
    /// Once there is an answer, answering was the last action.
    pub(super) fn action_at(&self, standing: Standing) -> Action {
        if standing == Standing::Answered { Action::Answer } else { self.action }
    }
}

/// Notes the answer of the loop.
pub(super) fn answer(session: &mut Session, text: &str) {
    session.set_param("mcp_final_answer", text);
    tool::change(session, |node| {
        node.insert("finalAnswer".to_owned(), json!(text));
        node.insert("finalAnswerDetermined".to_owned(), json!(true));
    });
}

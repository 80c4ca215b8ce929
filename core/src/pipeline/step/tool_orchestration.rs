//! Calls the tool requested by a parameter or by the table, at most one per turn. (docs/spec/pipeline.md#2.20, docs/decisions/README.md#9)
//! Reads: `tool_request`, `ce_tool`, `ce_mcp_tool`. Writes: `tool_request`, `tool_result`, `tool_status`, `context.mcp.toolExecution`.
//! Waits for: tool, rule tasks.

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::{Phase, Tool};
use crate::fault::Fault;
use crate::rules;
use crate::session::Session;
use crate::tool::{self, TableRequest, ToolCall};
use crate::turn::Map;
use crate::turning::Turning;
use crate::verbose::{Progress, tell};

const STEP: &str = "ToolOrchestrationStep";

/// The outcome of a tool request.
enum Outcome {
    Success(Value),
    NotInScope,
    Failed(String),
}

pub(super) async fn run(cx: &mut Turning<'_>) -> Result<Flow, Fault> {
    let param_call = cx.session.params.get("tool_request").and_then(ToolCall::parse);
    let table_request = if param_call.is_none() { tool::wanted(cx) } else { None };
    forget(&mut cx.session);
    if !cx.config.settings.tools.orchestration || tool::held_back(&cx.session) {
        explain(cx, param_call.as_ref(), "no tool is called: the step is off, or tools are held back in this turn");
        return Ok(Flow::Continue);
    }
    if let Some(execution) = table_request.as_ref().and_then(|it| it.execution.as_ref()) {
        explain(cx, param_call.as_ref(), "an equal request of the row has been carried out: its result stands");
        show(&mut cx.session, execution);
    } else if let Some(call) = param_call.or_else(|| table_request.as_ref().map(|it| it.call.clone())) {
        perform(cx, call, table_request.as_ref()).await;
    }
    Ok(Flow::Continue)
}

/// Explains the verdict; skipped when no tool was requested.
fn explain(cx: &Turning<'_>, call: Option<&ToolCall>, verdict: &str) {
    let has_request = || call.is_some() || cx.config.tool_rows.of(&cx.session.intent, &cx.session.state).next().is_some();
    if let Some(explanation) = cx.door.why("tool").filter(|_| has_request()) {
        explanation.about(json!({"request": call.map(ToolCall::json)})).decided(&cx.door, verdict);
    }
}

/// Removes tool results of earlier turns. (docs/decisions/README.md#D-6)
fn forget(session: &mut Session) {
    session.params.shift_remove("tool_result");
    session.params.shift_remove("tool_status");
    tool::change(session, |node| {
        node.shift_remove("toolExecution");
    });
}

async fn perform(cx: &mut Turning<'_>, mut call: ToolCall, table_request: Option<&TableRequest>) {
    cx.session.set_param("tool_request", call.json());
    let code = call.code.clone();
    let progress = Progress { tool_code: code.as_deref(), ..Progress::new(STEP, "TOOL_ORCHESTRATION_REQUEST") };
    tell(cx, Stage::ToolOrchestrationRequest, progress, call.json());
    let config = cx.config;
    let tool = call.code.as_ref().and_then(|it| config.tools.find(it, &cx.session.intent, &cx.session.state));
    call.group = call.group.or_else(|| tool.map(|it| it.group.clone()));
    let outcome = execute(cx, &call, tool).await;
    let execution = execution(&call, tool, &outcome);
    show(&mut cx.session, &execution);
    // A call that may have been executed is not repeated because its row still matches.
    if let Some(request) = table_request.filter(|_| matches!(outcome, Outcome::Success(_)) || cx.session.unconfirmed.is_some()) {
        tool::remember(&mut cx.session, request, execution);
    }
    let progress = |determinant, error| Progress { tool_code: code.as_deref(), error, ..Progress::new(STEP, determinant) };
    let payload = cx.session.params.get("tool_result").cloned().unwrap_or_default();
    match outcome {
        Outcome::Success(_) => {
            tell(cx, Stage::ToolOrchestrationResult, progress("TOOL_ORCHESTRATION_RESULT", false), payload);
            rules::pass(cx, Phase::PostToolExecution, "ToolOrchestrationStep PostTool").await;
        }
        Outcome::NotInScope => tell(cx, Stage::ToolOrchestrationResult, progress("TOOL_ORCHESTRATION_ERROR", true), payload),
        Outcome::Failed(_) => tell(cx, Stage::ToolOrchestrationError, progress("TOOL_ORCHESTRATION_ERROR", true), payload),
    }
}

async fn execute(cx: &mut Turning<'_>, call: &ToolCall, tool: Option<&Tool>) -> Outcome {
    if call.code.is_some() && tool.is_none() {
        return Outcome::NotInScope;
    }
    let Some(group) = &call.group else {
        return Outcome::Failed("the request names neither a tool nor a tool group".to_owned());
    };
    match tool::call(cx, tool, group, &call.args).await {
        Ok(text) => Outcome::Success(serde_json::from_str(&text).unwrap_or(Value::String(text))),
        Err(error) => Outcome::Failed(error.message),
    }
}

/// `context.mcp.toolExecution`
fn execution(call: &ToolCall, tool: Option<&Tool>, outcome: &Outcome) -> Value {
    let (status, name) = match outcome {
        Outcome::Success(_) => ("SUCCESS", "SUCCESS"),
        Outcome::NotInScope => ("SKIPPED_SCOPE_MISMATCH", "SCOPE_MISMATCH"),
        Outcome::Failed(_) => ("ERROR", "ERROR"),
    };
    let mut execution = json!({
        "phase": "POST_TOOL_EXECUTION",
        "finished": true,
        "status": status,
        "outcome": name,
        "error": matches!(outcome, Outcome::Failed(_)),
        "scopeMismatch": matches!(outcome, Outcome::NotInScope),
        "toolExecuted": matches!(outcome, Outcome::Success(_)),
        "toolCode": call.code,
        "toolGroup": call.group,
        "meta": meta(call, tool),
    });
    match outcome {
        Outcome::Success(result) => set(&mut execution, "result", result.clone()),
        Outcome::Failed(error) => set(&mut execution, "errorMessage", json!(error)),
        Outcome::NotInScope => {}
    }
    execution
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// The row of the tool that answered, without a timestamp, because a snapshot has none.
fn meta(call: &ToolCall, tool: Option<&Tool>) -> Value {
    json!({
        "tool_id": tool.map(|it| it.id),
        "tool_code": tool.map(|it| &it.code).or(call.code.as_ref()),
        "tool_group": call.group,
        "intent_code": tool.map(|it| &it.intent),
        "state_code": tool.map(|it| &it.state),
        "enabled": tool.map(|_| true),
        "description": tool.and_then(|it| it.description.as_ref()),
        "created_at": null,
    })
}

/// Stores an execution in the context and as parameters, for rules and templates.
fn show(session: &mut Session, execution: &Value) {
    let part = |name: &str| execution.get(name).cloned().unwrap_or_default();
    let mut result = Map::new();
    for (key, name) in [("status", "status"), ("tool_code", "toolCode"), ("tool_group", "toolGroup")] {
        result.insert(key.to_owned(), part(name));
    }
    match part("status").as_str() {
        Some("SUCCESS") => result.insert("result".to_owned(), part("result")),
        Some("ERROR") => result.insert("error".to_owned(), part("errorMessage")),
        _ => {
            result.insert("intent".to_owned(), json!(session.intent));
            result.insert("state".to_owned(), json!(session.state))
        }
    };
    session.set_param("tool_status", part("status"));
    session.set_param("tool_result", result);
    tool::change(session, |node| {
        node.insert("toolExecution".to_owned(), execution.clone());
    });
}

//! Calls the tool that a parameter or the table asks for, at most one a turn. (`spec/pipeline.md` 2.20, `decisions.md` 9)
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

/// What came of a request.
enum Outcome {
    Success(Value),
    NotInScope,
    Failed(String),
}

pub(super) async fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    let sent = t.session.params.get("tool_request").and_then(ToolCall::parse);
    let of_table = if sent.is_none() { tool::wanted(t) } else { None };
    forget(&mut t.session);
    if !t.config.settings.tools.orchestration || tool::held_back(&t.session) {
        explain(t, sent.as_ref(), "no tool is called: the step is off, or tools are held back in this turn");
        return Ok(Flow::Continue);
    }
    if let Some(execution) = of_table.as_ref().and_then(|it| it.execution.as_ref()) {
        explain(t, sent.as_ref(), "an equal request of the row has been carried out: its result stands");
        show(&mut t.session, execution);
    } else if let Some(call) = sent.or_else(|| of_table.as_ref().map(|it| it.call.clone())) {
        perform(t, call, of_table.as_ref()).await;
    }
    Ok(Flow::Continue)
}

/// Where nothing was asked for, there is nothing to say.
fn explain(t: &Turning<'_>, sent: Option<&ToolCall>, verdict: &str) {
    let asked = || sent.is_some() || t.config.tool_rows.of(&t.session.intent, &t.session.state).next().is_some();
    if let Some(why) = t.door.why("tool").filter(|_| asked()) {
        why.about(json!({"request": sent.map(ToolCall::json)})).decided(&t.door, verdict);
    }
}

/// What an earlier turn's tool left says nothing about this turn. (D-6)
fn forget(session: &mut Session) {
    session.params.shift_remove("tool_result");
    session.params.shift_remove("tool_status");
    tool::change(session, |node| {
        node.shift_remove("toolExecution");
    });
}

async fn perform(t: &mut Turning<'_>, mut call: ToolCall, of_table: Option<&TableRequest>) {
    t.session.set_param("tool_request", call.json());
    let code = call.code.clone();
    let progress = Progress { tool_code: code.as_deref(), ..Progress::new(STEP, "TOOL_ORCHESTRATION_REQUEST") };
    tell(t, Stage::ToolOrchestrationRequest, progress, call.json());
    let config = t.config;
    let tool = call.code.as_ref().and_then(|it| config.tools.find(it, &t.session.intent, &t.session.state));
    call.group = call.group.or_else(|| tool.map(|it| it.group.clone()));
    let outcome = execute(t, &call, tool).await;
    let execution = execution(&call, tool, &outcome);
    show(&mut t.session, &execution);
    // What may have been done is not done again because the row still fits.
    if let Some(request) = of_table.filter(|_| matches!(outcome, Outcome::Success(_)) || t.session.unconfirmed.is_some()) {
        tool::remember(&mut t.session, request, execution);
    }
    let progress = |determinant, error| Progress { tool_code: code.as_deref(), error, ..Progress::new(STEP, determinant) };
    let payload = t.session.params.get("tool_result").cloned().unwrap_or_default();
    match outcome {
        Outcome::Success(_) => {
            tell(t, Stage::ToolOrchestrationResult, progress("TOOL_ORCHESTRATION_RESULT", false), payload);
            rules::pass(t, Phase::PostToolExecution, "ToolOrchestrationStep PostTool").await;
        }
        Outcome::NotInScope => tell(t, Stage::ToolOrchestrationResult, progress("TOOL_ORCHESTRATION_ERROR", true), payload),
        Outcome::Failed(_) => tell(t, Stage::ToolOrchestrationError, progress("TOOL_ORCHESTRATION_ERROR", true), payload),
    }
}

async fn execute(t: &mut Turning<'_>, call: &ToolCall, tool: Option<&Tool>) -> Outcome {
    if call.code.is_some() && tool.is_none() {
        return Outcome::NotInScope;
    }
    let Some(group) = &call.group else {
        return Outcome::Failed("the request names neither a tool nor a tool group".to_owned());
    };
    match tool::call(t, tool, group, &call.args).await {
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

/// The row that answered. It has no time stamp, because a snapshot has none.
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

/// Shows an execution to rules and templates, in the context and as parameters.
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

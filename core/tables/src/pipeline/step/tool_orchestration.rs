//! Calls the tool requested by a parameter or by the table, at most one per turn. (docs/spec/pipeline.md#2.20, docs/decisions/0034-tools-requested-by-table.md)
//! Reads: `tool_request`, `ce_tool`, `ce_mcp_tool`. Writes: `tool_request`, `tool_result`, `tool_status`, `context.mcp.toolExecution`.
//! Waits for: tool, rule tasks.

use convengine_config::{Phase, Tool};
use convengine_turn::Fault;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::StepOutcome;
use crate::audit::Stage;
use crate::rules;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::tool::{self, TableRequest, ToolCall};
use crate::verbose::{Progress, publish_and_audit};

const STEP: &str = "ToolOrchestrationStep";

/// The outcome of a tool request.
enum ToolOutcome {
    Success(Value),
    NotInScope,
    Failed(String),
    /// The user has been asked for approval.
    Unapproved,
}

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    let param_call = cx.session.params.get("tool_request").and_then(ToolCall::parse);
    let approved = cx.session.approved_call.take_if(|call| call.get("planner").is_none_or(Value::is_null));
    let approved = approved.as_ref().and_then(ToolCall::parse);
    let table_request = if param_call.is_none() && approved.is_none() { tool::find_request(cx) } else { None };
    clear_previous_turn(&mut cx.session);
    if !cx.config.settings.tools.orchestration_enabled || tool::is_blocked(&cx.session) {
        explain(cx, param_call.as_ref(), "no tool is called: the step is off, or tools are blocked this turn");
        return Ok(StepOutcome::Continue);
    }
    if let Some(call) = approved {
        perform_call(cx, call, None, true).await;
    } else if let Some(execution) = table_request.as_ref().and_then(|request| request.execution.as_ref()) {
        explain(cx, param_call.as_ref(), "an equal request of the row has been carried out: its result stands");
        store_execution(&mut cx.session, execution);
    } else if let Some(call) = param_call.or_else(|| table_request.as_ref().map(|request| request.call.clone())) {
        let is_approved = table_request.is_none() && tool::is_granted_by_client(cx);
        perform_call(cx, call, table_request.as_ref(), is_approved).await;
    }
    Ok(StepOutcome::Continue)
}

/// Explains the verdict; skipped when no tool was requested.
fn explain(cx: &StepContext<'_>, call: Option<&ToolCall>, verdict: &str) {
    let has_request = || call.is_some() || cx.config.tool_requests.for_scope(&cx.session.intent, &cx.session.state).next().is_some();
    if let Some(explanation) = cx.effects.begin_explanation("tool").filter(|_| has_request()) {
        explanation.with_subject(json!({"request": call.map(ToolCall::to_json)})).record(&cx.effects, verdict);
    }
}

/// Removes tool results of earlier turns. (docs/spec/tools.md#D-6)
fn clear_previous_turn(session: &mut Session) {
    session.params.shift_remove("tool_result");
    session.params.shift_remove("tool_status");
    tool::change_mcp_context(session, |node| {
        node.shift_remove("toolExecution");
    });
}

async fn perform_call(cx: &mut StepContext<'_>, mut call: ToolCall, table_request: Option<&TableRequest>, is_approved: bool) {
    cx.session.set_param("tool_request", call.to_json());
    let code = call.code.clone();
    let progress = Progress { tool_code: code.as_deref(), ..Progress::new(STEP, "TOOL_ORCHESTRATION_REQUEST") };
    publish_and_audit(cx, Stage::ToolOrchestrationRequest, progress, call.to_json());
    let config = cx.config;
    let (intent, state) = (&cx.session.intent, &cx.session.state);
    let tool = match (&call.code, &call.group) {
        (Some(code), _) => config.tools.find(code, intent, state),
        // A request that names only a group goes to the group's only tool.
        (None, Some(group)) => config.tools.sole_in_group(group, intent, state),
        (None, None) => None,
    };
    call.group = call.group.or_else(|| tool.map(|tool| tool.group.clone()));
    let outcome = if !is_approved && tool.is_some_and(Tool::needs_approval) {
        let code = tool.map(|tool| tool.code.clone());
        tool::ask_approval(cx, STEP, &ToolCall { code, ..call.clone() }, None);
        ToolOutcome::Unapproved
    } else {
        execute_call(cx, &call, tool, is_approved).await
    };
    // Only a tool that the request names is reported.
    let execution = execution_json(&call, tool.filter(|_| call.code.is_some()), &outcome);
    store_execution(&mut cx.session, &execution);
    // A call that may have been executed is not repeated because its row still matches, and the user is not asked again.
    let is_done = matches!(outcome, ToolOutcome::Success(_) | ToolOutcome::Unapproved) || cx.session.unconfirmed_at.is_some();
    if let Some(request) = table_request.filter(|_| is_done) {
        tool::record_execution(&mut cx.session, request, execution);
    }
    let progress = |progress: Progress<'static>| Progress { tool_code: code.as_deref(), ..progress };
    let failure = Progress::survived(STEP, "TOOL_ORCHESTRATION_ERROR");
    let payload = cx.session.params.get("tool_result").cloned().unwrap_or_default();
    match outcome {
        ToolOutcome::Success(_) => {
            publish_and_audit(cx, Stage::ToolOrchestrationResult, progress(Progress::new(STEP, "TOOL_ORCHESTRATION_RESULT")), payload);
            rules::run_pass(cx, Phase::PostToolExecution, "ToolOrchestrationStep PostTool").await;
        }
        ToolOutcome::NotInScope => publish_and_audit(cx, Stage::ToolOrchestrationResult, progress(failure), payload),
        ToolOutcome::Unapproved => {}
        ToolOutcome::Failed(_) => publish_and_audit(cx, Stage::ToolOrchestrationError, progress(failure), payload),
    }
}

async fn execute_call(cx: &mut StepContext<'_>, call: &ToolCall, tool: Option<&Tool>, is_approved: bool) -> ToolOutcome {
    if call.code.is_some() && tool.is_none() {
        return ToolOutcome::NotInScope;
    }
    let Some(group) = &call.group else {
        return ToolOutcome::Failed("the request names neither a tool nor a tool group".to_owned());
    };
    match tool::call_tool(cx, tool, group, &call.args, is_approved).await {
        Ok(text) => ToolOutcome::Success(serde_json::from_str(&text).unwrap_or(Value::String(text))),
        Err(error) => ToolOutcome::Failed(error.message),
    }
}

/// `context.mcp.toolExecution`
fn execution_json(call: &ToolCall, tool: Option<&Tool>, outcome: &ToolOutcome) -> Value {
    let (status, name) = match outcome {
        ToolOutcome::Success(_) => ("SUCCESS", "SUCCESS"),
        ToolOutcome::NotInScope => ("SKIPPED_SCOPE_MISMATCH", "SCOPE_MISMATCH"),
        ToolOutcome::Failed(_) => ("ERROR", "ERROR"),
        ToolOutcome::Unapproved => ("APPROVAL_REQUIRED", "WAITING"),
    };
    let mut execution = json!({
        "phase": "POST_TOOL_EXECUTION",
        "finished": true,
        "status": status,
        "outcome": name,
        "error": matches!(outcome, ToolOutcome::Failed(_)),
        "scopeMismatch": matches!(outcome, ToolOutcome::NotInScope),
        "toolExecuted": matches!(outcome, ToolOutcome::Success(_)),
        "toolCode": call.code,
        "toolGroup": call.group,
        "meta": tool_metadata(call, tool),
    });
    match outcome {
        ToolOutcome::Success(result) => insert_member(&mut execution, "result", result.clone()),
        ToolOutcome::Failed(error) => insert_member(&mut execution, "errorMessage", json!(error)),
        ToolOutcome::NotInScope | ToolOutcome::Unapproved => {}
    }
    execution
}

fn insert_member(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// The row of the tool that answered, without a timestamp, because a snapshot has none.
fn tool_metadata(call: &ToolCall, tool: Option<&Tool>) -> Value {
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
fn store_execution(session: &mut Session, execution: &Value) {
    let part = |name: &str| execution.get(name).cloned().unwrap_or_default();
    let mut result = Map::new();
    for (key, name) in [("status", "status"), ("tool_code", "toolCode"), ("tool_group", "toolGroup")] {
        result.insert(key.to_owned(), part(name));
    }
    match part("status").as_str() {
        Some("SUCCESS") => result.insert("result".to_owned(), part("result")),
        Some("ERROR") => result.insert("error".to_owned(), part("errorMessage")),
        Some("APPROVAL_REQUIRED") => None,
        _ => {
            result.insert("intent".to_owned(), json!(session.intent));
            result.insert("state".to_owned(), json!(session.state))
        }
    };
    session.set_param("tool_status", part("status"));
    session.set_param("tool_result", result);
    tool::change_mcp_context(session, |node| {
        node.insert("toolExecution".to_owned(), execution.clone());
    });
}

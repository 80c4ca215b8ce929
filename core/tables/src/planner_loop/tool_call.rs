//! One tool call of the planner loop and its results. (docs/spec/tools.md#2.3.3, docs/spec/tools.md#6.5)

use convengine_config::{Phase, Tool};
use convengine_text::json::into_members;
use convengine_turn::{EffectError, EffectErrorKind, SleepRequest, payload};
use serde_json::{Value, json};

use super::lifecycle;
use super::loop_state::{LoopState, LoopStatus};
use super::observation::ToolObservation;
use super::plan::Plan;
use super::planner_run::{NextStep, PlannerRun, STEP, end_uncertain, end_with_answer, end_with_failure};
use super::semantic;
use crate::audit::Stage;
use crate::rules;
use crate::session::Session;
use crate::step_context::StepContext;
use crate::tool;
use crate::verbose::{Progress, publish, publish_and_audit};

/// Failed calls per turn; the last one ends the loop.
const MAX_ERRORS: usize = 2;

/// Publishes that a call is about to be made.
pub(super) fn publish_call(cx: &StepContext<'_>, code: &str, payload: &Value) {
    publish(cx, Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_CALL") }, || into_members(payload.clone()));
}

/// Makes a call that passed all checks; `is_approved` is whether the user has approved it.
pub(super) async fn perform_call(
    cx: &mut StepContext<'_>,
    run: &mut PlannerRun<'_>,
    plan: &Plan,
    signature: String,
    is_approved: bool,
) -> NextStep {
    let config = cx.config;
    let code = plan.code.as_deref().unwrap_or_default();
    let Some(tool) = config.tools.find(code, &cx.session.intent, &cx.session.state) else {
        let reason = format!("'{code}' is not among the tools that can be used here");
        return handle_failure(cx, run, plan, None, &EffectError::new(EffectErrorKind::NotFound, reason));
    };
    cx.session.set_param("mcp_tool_group", tool.group.clone());
    delay_call(cx, run.round).await;
    match tool::call_tool(cx, Some(tool), &tool.group, &plan.args, is_approved).await {
        Ok(json) => {
            run.succeeded_calls.push(signature);
            run.has_changed_something |= tool.changes_something();
            handle_success(cx, run, plan, tool, json).await
        }
        Err(error) => {
            if tool::has_possible_side_effects(tool, &error) {
                run.uncertain_calls.push(signature);
            }
            handle_failure(cx, run, plan, Some(tool), &error)
        }
    }
}

/// Tells the planner why a call is not made.
pub(super) fn refuse_call(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>, plan: &Plan, tool: Option<&Tool>, reason: &str) -> NextStep {
    handle_failure(cx, run, plan, tool, &EffectError::new(EffectErrorKind::Refused, reason))
}

/// Waits for the configured delay.
async fn delay_call(cx: &StepContext<'_>, round: usize) {
    let settings = &cx.config.settings.tools;
    let after = if round > settings.delay_after_calls { settings.delay_after_ms } else { 0 };
    let ms = u32::try_from(settings.delay_ms.saturating_add(after)).unwrap_or(u32::MAX);
    if ms > 0 {
        // A failed sleep counts as elapsed.
        let _ = cx.effects.perform(SleepRequest::new(ms)).await;
    }
}

async fn handle_success(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>, plan: &Plan, tool: &Tool, json: String) -> NextStep {
    let code = plan.code.as_deref().unwrap_or_default();
    let result = serde_json::from_str(&json).unwrap_or(Value::Null);
    record_observation(&mut cx.session, run, ToolObservation::from_result(code, json.clone()));
    tool::change_mcp_context(&mut cx.session, |node| {
        semantic::record_result(node, code, &result);
        node.shift_remove("toolExecutionError");
    });
    lifecycle::record_state(&mut cx.session, LoopState { group: Some(&tool.group), ..LoopState::for_plan(LoopStatus::InProgress, plan) });
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_RESULT") };
    publish(cx, progress, || into_members(json!({"tool_code": code, "tool_group": tool.group})));
    cx.audit(Stage::McpToolResult, |_| payload!({"tool_code": code, "tool_group": tool.group, "rows": json}));
    if semantic::is_tool(code, semantic::INTERPRET) {
        rules::run_pass(cx, Phase::PostSemanticInterpret, "McpToolStep PostSemanticInterpret").await;
    }
    match semantic::stop_for_result(code, &result) {
        Some(stop) => {
            end_with_tool_answer(cx, plan, code, &stop);
            NextStep::End
        }
        None => NextStep::Plan,
    }
}

fn record_observation(session: &mut Session, run: &mut PlannerRun<'_>, observation: ToolObservation) {
    run.observations.push(observation);
    let entries: Vec<Value> = run.observations.iter().map(ToolObservation::to_entry).collect();
    session.set_param("mcp_observations", entries.clone());
    tool::change_mcp_context(session, |node| {
        node.insert("observations".to_owned(), Value::Array(entries));
    });
}

/// Ends the loop with the tool's own message to the user.
fn end_with_tool_answer(cx: &mut StepContext<'_>, plan: &Plan, code: &str, stop: &semantic::ToolStop) {
    if stop.is_question {
        cx.session.ask(&*stop.text, semantic::AMBIGUITY_REASON);
    }
    end_with_answer(cx, &stop.text, LoopState::for_plan(LoopStatus::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_FINAL_ANSWER") };
    publish_and_audit(cx, Stage::McpFinalAnswer, progress, json!({"answer": stop.text, "reason": stop.reason, "tool_code": code}));
}

/// Reports a failure to the planner while retries are left; otherwise ends the loop, immediately when the outcome of the call is unknown.
/// (docs/spec/tools.md#D-8, docs/spec/tools.md#D-9)
fn handle_failure(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>, plan: &Plan, tool: Option<&Tool>, error: &EffectError) -> NextStep {
    let code = plan.code.as_deref().unwrap_or_default();
    let group = tool.map(|tool| tool.group.as_str());
    let (message, args) = (&error.message, &plan.args);
    run.error_count += 1;
    // The planner would make the same call again.
    let is_uncertain = tool.is_some_and(|tool| error.kind == EffectErrorKind::Interrupted && !tool.executor.is_repeatable());
    let is_last = is_uncertain || run.error_count >= MAX_ERRORS || run.round >= cx.config.settings.tools.max_loops;
    record_observation(&mut cx.session, run, ToolObservation::from_failure(code, message));
    tool::change_mcp_context(&mut cx.session, |node| {
        let facts = json!({
            "toolCode": code, "toolGroup": group, "errorMessage": message, "rootCauseMessage": message, "rootCauseClass": error.kind,
            "args": args,
        });
        node.insert(
            "toolExecutionError".to_owned(),
            Value::Object(into_members(facts).into_iter().filter(|(_, value)| !value.is_null()).collect()),
        );
    });
    cx.audit(Stage::McpToolError, |_| {
        payload!({
            "tool_code": code, "tool_group": group, "args": args, "error": message, "error_message": message,
            "root_cause_message": message,
        })
    });
    let status = if is_last { LoopStatus::Failed } else { LoopStatus::Failing };
    let state = LoopState { group, ..LoopState::for_plan(status, plan).with_message(message) };
    let next = if is_uncertain {
        end_uncertain(cx, state)
    } else if is_last {
        end_with_failure(cx, state)
    } else {
        lifecycle::record_state(&mut cx.session, state);
        NextStep::Plan
    };
    let facts = json!({"tool_code": code, "tool_group": group, "args": args, "error": message});
    publish(cx, Progress { tool_code: Some(code), ..Progress::survived(STEP, "MCP_TOOL_CALL") }, || into_members(facts));
    cx.audit(Stage::McpToolRootCause, |_| {
        json!({
            "tool_code": code, "tool_group": group, "error_message": message, "root_cause_message": message,
            "preflight_diagnostics": null, "args": args,
        })
    });
    next
}

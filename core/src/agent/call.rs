//! One tool call of the planner loop and its results. (docs/spec/tools.md#2.3.3, docs/spec/tools.md#6.5)

use serde_json::{Value, json};

use super::lifecycle::{self, Moment, Standing};
use super::observe::Observation;
use super::plan::Plan;
use super::run::{Loop, Next, doubt, end, fail};
use super::{STEP, semantic};
use crate::audit::Stage;
use crate::config::{Phase, Tool};
use crate::json::members;
use crate::rules;
use crate::session::Session;
use crate::tool;
use crate::turn::{EffectError, EffectErrorKind, SleepRequest};
use crate::turning::Turning;
use crate::verbose::{Progress, publish, tell};

/// Failed calls per turn; the last one ends the loop.
const ERRORS: usize = 2;

/// Publishes that a call is about to be made.
pub(super) fn told(cx: &Turning<'_>, code: &str, payload: &Value) {
    publish(cx, Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_CALL") }, || members(payload.clone()));
}

/// Makes a call that passed all checks.
pub(super) async fn perform(cx: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, code: &str, signature: String) -> Next {
    let config = cx.config;
    let Some(tool) = config.tools.find(code, &cx.session.intent, &cx.session.state) else {
        let reason = format!("'{code}' is not among the tools that can be used here");
        return failed(cx, run, plan, None, &EffectError::new(EffectErrorKind::NotFound, reason));
    };
    cx.session.set_param("mcp_tool_group", tool.group.clone());
    wait(cx, run.round).await;
    match tool::call(cx, Some(tool), &tool.group, &plan.args).await {
        Ok(json) => {
            run.done.push(signature);
            succeeded(cx, run, plan, tool, json).await
        }
        Err(error) => {
            if tool::may_have_acted(tool, &error) {
                run.in_doubt.push(signature);
            }
            failed(cx, run, plan, Some(tool), &error)
        }
    }
}

/// Tells the planner that a call is not repeated because its outcome is unknown.
pub(super) fn refuse(cx: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan) -> Next {
    let reason = "this call has failed, but may have been carried out all the same: it is not made again in this turn";
    failed(cx, run, plan, None, &EffectError::new(EffectErrorKind::Refused, reason))
}

/// Waits for the configured delay.
async fn wait(cx: &Turning<'_>, round: usize) {
    let settings = &cx.config.settings.tools;
    let after = if round > settings.delay_after_calls { settings.delay_after_ms } else { 0 };
    let ms = u32::try_from(settings.delay_ms.saturating_add(after)).unwrap_or(u32::MAX);
    if ms > 0 {
        // A failed sleep counts as elapsed.
        let _ = cx.door.perform(SleepRequest::of(ms)).await;
    }
}

async fn succeeded(cx: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, tool: &Tool, json: String) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let result = serde_json::from_str(&json).unwrap_or(Value::Null);
    observe(&mut cx.session, run, Observation::of(code, json.clone()));
    tool::change(&mut cx.session, |node| {
        semantic::result(node, code, &result);
        node.shift_remove("toolExecutionError");
    });
    lifecycle::note(&mut cx.session, Moment { group: Some(&tool.group), ..Moment::of(Standing::InProgress, plan) });
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_RESULT") };
    publish(cx, progress, || members(json!({"tool_code": code, "tool_group": tool.group})));
    cx.audit(Stage::McpToolResult, |_| json!({"tool_code": code, "tool_group": tool.group, "rows": json}));
    if semantic::is(code, semantic::INTERPRET) {
        rules::pass(cx, Phase::PostSemanticInterpret, "McpToolStep PostSemanticInterpret").await;
    }
    match semantic::stop(code, &result) {
        Some(stop) => {
            stopped(cx, plan, code, &stop);
            Next::End
        }
        None => Next::Plan,
    }
}

fn observe(session: &mut Session, run: &mut Loop<'_>, observation: Observation) {
    run.seen.push(observation);
    let entries: Vec<Value> = run.seen.iter().map(Observation::entry).collect();
    session.set_param("mcp_observations", entries.clone());
    tool::change(session, |node| {
        node.insert("observations".to_owned(), Value::Array(entries));
    });
}

/// Ends the loop with the tool's own message to the user.
fn stopped(cx: &mut Turning<'_>, plan: &Plan, code: &str, stop: &semantic::Stop) {
    if stop.asks {
        cx.session.ask(&*stop.text, semantic::AMBIGUOUS);
    }
    end(cx, &stop.text, Moment::of(Standing::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_FINAL_ANSWER") };
    tell(cx, Stage::McpFinalAnswer, progress, json!({"answer": stop.text, "reason": stop.reason, "tool_code": code}));
}

/// Reports a failure to the planner while retries are left; otherwise ends the loop, immediately when the outcome of the call is unknown.
/// (docs/decisions/README.md#D-8, docs/decisions/README.md#D-9)
fn failed(cx: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, tool: Option<&Tool>, error: &EffectError) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let group = tool.map(|it| it.group.as_str());
    let (message, args) = (&error.message, &plan.args);
    run.errors += 1;
    // The planner would make the same call again.
    let is_uncertain = tool.is_some_and(|it| error.kind == EffectErrorKind::Interrupted && !it.executor.repeatable());
    let is_last = is_uncertain || run.errors >= ERRORS || run.round >= cx.config.settings.tools.max_loops;
    observe(&mut cx.session, run, Observation::failure(code, message));
    tool::change(&mut cx.session, |node| {
        let facts = json!({
            "toolCode": code, "toolGroup": group, "errorMessage": message, "rootCauseMessage": message, "rootCauseClass": error.kind,
            "args": args,
        });
        node.insert("toolExecutionError".to_owned(), Value::Object(members(facts).into_iter().filter(|it| !it.1.is_null()).collect()));
    });
    cx.audit(Stage::McpToolError, |_| {
        json!({
            "tool_code": code, "tool_group": group, "args": args, "error": message, "error_message": message,
            "root_cause_message": message,
        })
    });
    let status = if is_last { Standing::Failed } else { Standing::Failing };
    let state = Moment { group, ..Moment::of(status, plan).because(message) };
    let next = if is_uncertain {
        doubt(cx, state)
    } else if is_last {
        fail(cx, state)
    } else {
        lifecycle::note(&mut cx.session, state);
        Next::Plan
    };
    let facts = json!({"tool_code": code, "tool_group": group, "args": args, "error": message});
    publish(cx, Progress { tool_code: Some(code), ..Progress::error(STEP, "MCP_TOOL_CALL") }, || members(facts));
    cx.audit(Stage::McpToolRootCause, |_| {
        json!({
            "tool_code": code, "tool_group": group, "error_message": message, "root_cause_message": message,
            "preflight_diagnostics": null, "args": args,
        })
    });
    next
}

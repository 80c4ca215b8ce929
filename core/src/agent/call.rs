//! One call of a tool, and what it leaves. (`spec/mcp-and-semantic.md` 2.3.3, 6.5)

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

/// Calls of a turn that may fail; with the last of them the loop ends.
const ERRORS: usize = 2;

/// Publishes that a call is about to be made.
pub(super) fn told(t: &Turning<'_>, code: &str, payload: &Value) {
    publish(t, Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_CALL") }, || members(payload.clone()));
}

/// Makes a call that nothing speaks against.
pub(super) async fn perform(t: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, code: &str, signature: String) -> Next {
    let config = t.config;
    let Some(tool) = config.tools.find(code, &t.session.intent, &t.session.state) else {
        let reason = format!("'{code}' is not among the tools that can be used here");
        return failed(t, run, plan, None, &EffectError::new(EffectErrorKind::NotFound, reason));
    };
    t.session.set_param("mcp_tool_group", tool.group.clone());
    wait(t, run.round).await;
    match tool::call(t, Some(tool), &tool.group, &plan.args).await {
        Ok(json) => {
            run.done.push(signature);
            succeeded(t, run, plan, tool, json).await
        }
        Err(error) => {
            if tool::may_have_acted(tool, &error) {
                run.in_doubt.push(signature);
            }
            failed(t, run, plan, Some(tool), &error)
        }
    }
}

/// Tells the planner that a call is not made again, because nobody knows whether it was carried out.
pub(super) fn refuse(t: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan) -> Next {
    let reason = "this call has failed, but may have been carried out all the same: it is not made again in this turn";
    failed(t, run, plan, None, &EffectError::new(EffectErrorKind::Refused, reason))
}

/// Waits as long as the settings say.
async fn wait(t: &Turning<'_>, round: usize) {
    let settings = &t.config.settings.tools;
    let after = if round > settings.delay_after_calls { settings.delay_after_ms } else { 0 };
    let ms = u32::try_from(settings.delay_ms.saturating_add(after)).unwrap_or(u32::MAX);
    if ms > 0 {
        // A wait that fails is a wait that is over.
        let _ = t.door.perform(SleepRequest::of(ms)).await;
    }
}

async fn succeeded(t: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, tool: &Tool, json: String) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let result = serde_json::from_str(&json).unwrap_or(Value::Null);
    observe(&mut t.session, run, Observation::of(code, json.clone()));
    tool::change(&mut t.session, |node| {
        semantic::result(node, code, &result);
        node.shift_remove("toolExecutionError");
    });
    lifecycle::note(&mut t.session, Moment { group: Some(&tool.group), ..Moment::of(Standing::InProgress, plan) });
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_TOOL_RESULT") };
    publish(t, progress, || members(json!({"tool_code": code, "tool_group": tool.group})));
    t.audit(Stage::McpToolResult, |_| json!({"tool_code": code, "tool_group": tool.group, "rows": json}));
    if semantic::is(code, semantic::INTERPRET) {
        rules::pass(t, Phase::PostSemanticInterpret, "McpToolStep PostSemanticInterpret").await;
    }
    match semantic::stop(code, &result) {
        Some(stop) => {
            stopped(t, plan, code, &stop);
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

/// Ends the loop with what the tool itself has to say to the user.
fn stopped(t: &mut Turning<'_>, plan: &Plan, code: &str, stop: &semantic::Stop) {
    if stop.asks {
        t.session.ask(&*stop.text, semantic::AMBIGUOUS);
    }
    end(t, &stop.text, Moment::of(Standing::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_FINAL_ANSWER") };
    tell(t, Stage::McpFinalAnswer, progress, json!({"answer": stop.text, "reason": stop.reason, "tool_code": code}));
}

/// Tells the planner of a failure while it may still do better; else the loop ends, at once when nobody knows whether the call was
/// carried out. (D-8, D-9)
fn failed(t: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan, tool: Option<&Tool>, error: &EffectError) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let group = tool.map(|it| it.group.as_str());
    let (message, args) = (&error.message, &plan.args);
    run.errors += 1;
    // A planner that is asked again would call it again.
    let in_doubt = tool.is_some_and(|it| error.kind == EffectErrorKind::Interrupted && !it.executor.repeatable());
    let is_last = in_doubt || run.errors >= ERRORS || run.round >= t.config.settings.tools.max_loops;
    observe(&mut t.session, run, Observation::failure(code, message));
    tool::change(&mut t.session, |node| {
        let facts = json!({
            "toolCode": code, "toolGroup": group, "errorMessage": message, "rootCauseMessage": message, "rootCauseClass": error.kind,
            "args": args,
        });
        node.insert("toolExecutionError".to_owned(), Value::Object(members(facts).into_iter().filter(|it| !it.1.is_null()).collect()));
    });
    t.audit(Stage::McpToolError, |_| {
        json!({
            "tool_code": code, "tool_group": group, "args": args, "error": message, "error_message": message,
            "root_cause_message": message,
        })
    });
    let standing = if is_last { Standing::Failed } else { Standing::Failing };
    let moment = Moment { group, ..Moment::of(standing, plan).because(message) };
    let next = if in_doubt {
        doubt(t, moment)
    } else if is_last {
        fail(t, moment)
    } else {
        lifecycle::note(&mut t.session, moment);
        Next::Plan
    };
    let facts = json!({"tool_code": code, "tool_group": group, "args": args, "error": message});
    publish(t, Progress { tool_code: Some(code), ..Progress::error(STEP, "MCP_TOOL_CALL") }, || members(facts));
    t.audit(Stage::McpToolRootCause, |_| {
        json!({
            "tool_code": code, "tool_group": group, "error_message": message, "root_cause_message": message,
            "preflight_diagnostics": null, "args": args,
        })
    });
    next
}

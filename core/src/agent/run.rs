//! The loop: plan, check, call, observe. (docs/spec/tools.md#2.3)

use serde_json::{Value, json};

use super::lifecycle::{self, Moment, Standing};
use super::observe::Observation;
use super::plan::{Action, Plan, UNSAFE_STEP};
use super::{STEP, call, gate, guard, planner, semantic};
use crate::audit::Stage;
use crate::config::{Phase, Tool};
use crate::json::canon;
use crate::rules;
use crate::session::UNCONFIRMED;
use crate::turning::Turning;
use crate::verbose::{Progress, tell};

/// The answer when a call may not follow the previous one.
const BLOCKED: &str = "I cannot take that step here. Please put it another way, or tell me what is missing.";

/// The answer when the planner marks the operation as forbidden to the user.
const RESTRICTED: &str = "I may not change that here; I can only look things up.";

/// The answer after too many failures.
const FAILED: &str = "I could not look that up just now. Please try again.";

/// The state of one run of the loop.
pub(super) struct Loop<'c> {
    pub tools: Vec<&'c Tool>,
    pub seen: Vec<Observation>,
    /// Signatures of calls that succeeded.
    pub done: Vec<String>,
    /// Signatures of failed calls whose outcome is unknown.
    pub in_doubt: Vec<String>,
    /// Number of failed calls.
    pub errors: usize,
    /// Number of the current plan, from 1.
    pub round: usize,
}

/// How the loop continues after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Ask the planner again.
    Plan,
    /// End the loop.
    End,
}

/// Runs the loop if no gate is closed, with the rule passes before and after it.
pub async fn run(cx: &mut Turning<'_>) {
    let has_asked = semantic::has_asked(&cx.session);
    lifecycle::forget(&mut cx.session);
    if cx.session.stalled {
        gate::wait(cx);
        return;
    }
    rules::pass(cx, Phase::PreAgentMcp, "McpToolStep PreMcp").await;
    // These rules may read what a tool of this turn left, and may change intent and state.
    if gate::is_closed(cx, has_asked) {
        return;
    }
    rounds(cx).await;
    rules::pass(cx, Phase::PostAgentMcp, STEP).await;
    cx.session.write_context();
}

async fn rounds(cx: &mut Turning<'_>) {
    cx.audit(Stage::McpContextCleared, |_| json!({}));
    let config = cx.config;
    let limit = config.settings.tools.max_loops;
    lifecycle::open(&mut cx.session, limit);
    let tools = config.tools.of(&cx.session.intent, &cx.session.state);
    let mut run = Loop { tools, seen: Vec::new(), done: Vec::new(), in_doubt: Vec::new(), errors: 0, round: 0 };
    while run.round < limit {
        run.round += 1;
        if round(cx, &mut run).await == Next::End {
            return;
        }
    }
    lifecycle::abrupt(&mut cx.session);
}

async fn round(cx: &mut Turning<'_>, run: &mut Loop<'_>) -> Next {
    let mut plan = match planner::plan(cx, &run.tools, &run.seen).await {
        Ok(plan) => plan,
        Err(error) => {
            let message = error.message;
            return fail(cx, Moment::new(Standing::Failed).because(&message));
        }
    };
    if let Some(code) = &plan.code {
        semantic::hydrate(code, &mut plan.args, &run.seen);
    }
    announce(cx, &plan);
    match plan.action {
        Action::Answer => {
            end(cx, plan.answer.as_deref().unwrap_or_default(), Moment::of(Standing::Answered, &plan));
            tell(cx, Stage::McpFinalAnswer, Progress::new(STEP, "MCP_FINAL_ANSWER"), json!({"answer": plan.answer}));
            Next::End
        }
        Action::Call => check(cx, run, &plan).await,
    }
}

/// Publishes a plan before it is executed.
fn announce(cx: &mut Turning<'_>, plan: &Plan) {
    cx.session.set_param("mcp_action", plan.action.name());
    cx.session.set_param("mcp_tool_code", plan.code.clone());
    cx.session.set_param("mcp_tool_args", plan.args.clone());
    cx.session.set_param("mcp_operation_tag", plan.tag.clone());
    explain(cx, plan, "the planner has planned");
    lifecycle::sketch(&mut cx.session, Moment::of(Standing::InProgress, plan));
}

fn explain(cx: &Turning<'_>, plan: &Plan, verdict: &str) {
    if let Some(explanation) = cx.door.why("planner") {
        let about = json!({"action": plan.action.name(), "tool": plan.code, "args": plan.args, "operationTag": plan.tag});
        explanation.about(about).decided(&cx.door, verdict);
    }
}

/// Checks the plan and calls the tool.
async fn check(cx: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let signature = format!("{} {}", code.to_uppercase(), canon::text(&plan.args));
    // A failed call does not count: an allowed sequence such as check-then-pay requires that the check succeeded.
    let current = run.seen.iter().rev().find(|it| !it.failed).map_or(guard::START, |it| it.code.as_str());
    if guard::is_restricted(plan.tag.as_deref()) {
        let error = json!({
            "tool_code": code, "args": plan.args, "operation_tag": plan.tag, "error": "planner-marked restricted operation",
        });
        return refuse(cx, plan, RESTRICTED, "POLICY_RESTRICTED_OPERATION", error);
    }
    if run.done.contains(&signature) {
        return repeat(cx, run, plan, code);
    }
    let payload = json!({
        "tool_code": code, "args": plan.args, "action": plan.action.name(), "intent": cx.session.intent, "state": cx.session.state,
        "routingDecision": cx.session.params.get("routing_decision"), "observation_count": run.seen.len(),
        "current_observation_tool": current,
    });
    call::told(cx, code, &payload);
    if let Some(reason) = guard::refuses(&cx.config.settings.tools.next, current, code) {
        let error = json!({"tool_code": code, "error": reason, "current_observation_tool": current});
        return refuse(cx, plan, BLOCKED, reason, error);
    }
    if run.in_doubt.contains(&signature) {
        return call::refuse(cx, run, plan);
    }
    cx.audit(Stage::McpToolCall, |_| payload);
    call::perform(cx, run, plan, code, signature).await
}

/// Ends the loop because a call is not allowed.
fn refuse(cx: &mut Turning<'_>, plan: &Plan, answer: &str, reason: &str, error: Value) -> Next {
    explain(cx, plan, reason);
    end(cx, answer, Moment::of(Standing::Blocked, plan).because(reason));
    let progress = Progress { tool_code: plan.code.as_deref(), ..Progress::error(STEP, "MCP_TOOL_ERROR") };
    tell(cx, Stage::McpToolError, progress, error);
    Next::End
}

/// Ends the loop with the known result when a call that succeeded is planned again.
fn repeat(cx: &mut Turning<'_>, run: &Loop<'_>, plan: &Plan, code: &str) -> Next {
    let newest = run.seen.iter().rev().find(|it| !it.failed).map(Observation::value);
    let summary = newest.as_ref().and_then(|it| it.get("summary")?.as_str()).filter(|it| !it.trim().is_empty());
    let answer = summary.unwrap_or(UNSAFE_STEP);
    explain(cx, plan, "the same call has succeeded already: the loop ends with what it brought");
    end(cx, answer, Moment::of(Standing::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_DUPLICATE_TOOL_CALL_SUPPRESSED") };
    let payload = json!({"answer": answer, "reason": "DUPLICATE_TOOL_CALL_SUPPRESSED", "tool_code": code, "args": plan.args});
    tell(cx, Stage::McpDuplicateToolCallSuppressed, progress, payload);
    Next::End
}

/// Ends the loop with a failure.
pub(super) fn fail(cx: &mut Turning<'_>, state: Moment<'_>) -> Next {
    end(cx, FAILED, state);
    Next::End
}

/// Ends the loop because the outcome of a call is unknown.
pub(super) fn doubt(cx: &mut Turning<'_>, state: Moment<'_>) -> Next {
    end(cx, UNCONFIRMED, state);
    Next::End
}

/// Records the answer and the state that led to it.
pub(super) fn end(cx: &mut Turning<'_>, answer: &str, state: Moment<'_>) {
    lifecycle::answer(&mut cx.session, answer);
    lifecycle::note(&mut cx.session, state);
}

//! The loop: plan, check, call, observe. (`spec/mcp-and-semantic.md` 2.3)

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

/// The answer when a call may not follow the one before it.
const BLOCKED: &str = "I cannot take that step here. Please put it another way, or tell me what is missing.";

/// The answer when the planner says that the user may not have this done.
const RESTRICTED: &str = "I may not change that here; I can only look things up.";

/// The answer when too much has failed.
const FAILED: &str = "I could not look that up just now. Please try again.";

/// What has happened in the loop so far.
pub(super) struct Loop<'c> {
    pub tools: Vec<&'c Tool>,
    pub seen: Vec<Observation>,
    /// Calls that have succeeded.
    pub done: Vec<String>,
    /// Calls that have failed and may have been carried out all the same.
    pub in_doubt: Vec<String>,
    /// Calls that have failed.
    pub errors: usize,
    /// The plan's number, from 1.
    pub round: usize,
}

/// What follows a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The planner is asked again.
    Plan,
    /// The loop has its answer.
    End,
}

/// Runs the loop where the gate is open, with the rules before and after it.
pub async fn run(t: &mut Turning<'_>) {
    let has_asked = semantic::has_asked(&t.session);
    lifecycle::forget(&mut t.session);
    if t.session.stalled {
        gate::wait(t);
        return;
    }
    rules::pass(t, Phase::PreAgentMcp, "McpToolStep PreMcp").await;
    // Those rules may read what a tool of this turn left, and may change where the turn stands.
    if gate::is_closed(t, has_asked) {
        return;
    }
    rounds(t).await;
    rules::pass(t, Phase::PostAgentMcp, STEP).await;
    t.session.write_context();
}

async fn rounds(t: &mut Turning<'_>) {
    t.audit(Stage::McpContextCleared, |_| json!({}));
    let config = t.config;
    let limit = config.settings.tools.max_loops;
    lifecycle::open(&mut t.session, limit);
    let tools = config.tools.of(&t.session.intent, &t.session.state);
    let mut run = Loop { tools, seen: Vec::new(), done: Vec::new(), in_doubt: Vec::new(), errors: 0, round: 0 };
    while run.round < limit {
        run.round += 1;
        if round(t, &mut run).await == Next::End {
            return;
        }
    }
    lifecycle::abrupt(&mut t.session);
}

async fn round(t: &mut Turning<'_>, run: &mut Loop<'_>) -> Next {
    let mut plan = match planner::plan(t, &run.tools, &run.seen).await {
        Ok(plan) => plan,
        Err(error) => {
            let message = error.message;
            return fail(t, Moment::new(Standing::Failed).because(&message));
        }
    };
    if let Some(code) = &plan.code {
        semantic::hydrate(code, &mut plan.args, &run.seen);
    }
    announce(t, &plan);
    match plan.action {
        Action::Answer => {
            end(t, plan.answer.as_deref().unwrap_or_default(), Moment::of(Standing::Answered, &plan));
            tell(t, Stage::McpFinalAnswer, Progress::new(STEP, "MCP_FINAL_ANSWER"), json!({"answer": plan.answer}));
            Next::End
        }
        Action::Call => check(t, run, &plan).await,
    }
}

/// Shows a plan before it is carried out.
fn announce(t: &mut Turning<'_>, plan: &Plan) {
    t.session.set_param("mcp_action", plan.action.name());
    t.session.set_param("mcp_tool_code", plan.code.clone());
    t.session.set_param("mcp_tool_args", plan.args.clone());
    t.session.set_param("mcp_operation_tag", plan.tag.clone());
    explain(t, plan, "the planner has planned");
    lifecycle::sketch(&mut t.session, Moment::of(Standing::InProgress, plan));
}

fn explain(t: &Turning<'_>, plan: &Plan, verdict: &str) {
    if let Some(why) = t.door.why("planner") {
        let about = json!({"action": plan.action.name(), "tool": plan.code, "args": plan.args, "operationTag": plan.tag});
        why.about(about).decided(&t.door, verdict);
    }
}

/// Calls the tool, unless something speaks against it.
async fn check(t: &mut Turning<'_>, run: &mut Loop<'_>, plan: &Plan) -> Next {
    let code = plan.code.as_deref().unwrap_or_default();
    let signature = format!("{} {}", code.to_uppercase(), canon::text(&plan.args));
    // What has failed has not been done: a graph that lets a payment follow a check means one that succeeded.
    let current = run.seen.iter().rev().find(|it| !it.failed).map_or(guard::START, |it| it.code.as_str());
    if guard::is_restricted(plan.tag.as_deref()) {
        let error = json!({
            "tool_code": code, "args": plan.args, "operation_tag": plan.tag, "error": "planner-marked restricted operation",
        });
        return refuse(t, plan, RESTRICTED, "POLICY_RESTRICTED_OPERATION", error);
    }
    if run.done.contains(&signature) {
        return repeat(t, run, plan, code);
    }
    let payload = json!({
        "tool_code": code, "args": plan.args, "action": plan.action.name(), "intent": t.session.intent, "state": t.session.state,
        "routingDecision": t.session.params.get("routing_decision"), "observation_count": run.seen.len(),
        "current_observation_tool": current,
    });
    call::told(t, code, &payload);
    if let Some(reason) = guard::refuses(&t.config.settings.tools.next, current, code) {
        let error = json!({"tool_code": code, "error": reason, "current_observation_tool": current});
        return refuse(t, plan, BLOCKED, reason, error);
    }
    if run.in_doubt.contains(&signature) {
        return call::refuse(t, run, plan);
    }
    t.audit(Stage::McpToolCall, |_| payload);
    call::perform(t, run, plan, code, signature).await
}

/// Ends the loop with a call that is not allowed.
fn refuse(t: &mut Turning<'_>, plan: &Plan, answer: &str, reason: &str, error: Value) -> Next {
    explain(t, plan, reason);
    end(t, answer, Moment::of(Standing::Blocked, plan).because(reason));
    let progress = Progress { tool_code: plan.code.as_deref(), ..Progress::error(STEP, "MCP_TOOL_ERROR") };
    tell(t, Stage::McpToolError, progress, error);
    Next::End
}

/// Ends the loop with what is known, when a call that has succeeded is planned again.
fn repeat(t: &mut Turning<'_>, run: &Loop<'_>, plan: &Plan, code: &str) -> Next {
    let newest = run.seen.iter().rev().find(|it| !it.failed).map(Observation::value);
    let summary = newest.as_ref().and_then(|it| it.get("summary")?.as_str()).filter(|it| !it.trim().is_empty());
    let answer = summary.unwrap_or(UNSAFE_STEP);
    explain(t, plan, "the same call has succeeded already: the loop ends with what it brought");
    end(t, answer, Moment::of(Standing::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_DUPLICATE_TOOL_CALL_SUPPRESSED") };
    let payload = json!({"answer": answer, "reason": "DUPLICATE_TOOL_CALL_SUPPRESSED", "tool_code": code, "args": plan.args});
    tell(t, Stage::McpDuplicateToolCallSuppressed, progress, payload);
    Next::End
}

/// Ends the loop with a failure.
pub(super) fn fail(t: &mut Turning<'_>, moment: Moment<'_>) -> Next {
    end(t, FAILED, moment);
    Next::End
}

/// Ends the loop with a call of which nobody knows whether it was carried out.
pub(super) fn doubt(t: &mut Turning<'_>, moment: Moment<'_>) -> Next {
    end(t, UNCONFIRMED, moment);
    Next::End
}

/// Notes an answer and the moment that led to it.
pub(super) fn end(t: &mut Turning<'_>, answer: &str, moment: Moment<'_>) {
    lifecycle::answer(&mut t.session, answer);
    lifecycle::note(&mut t.session, moment);
}

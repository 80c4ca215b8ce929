//! The loop: plan, check, call, observe. (docs/spec/tools.md#2.3)

use convengine_config::Phase;
use serde_json::{Value, json};

use super::lifecycle;
use super::loop_state::{LoopState, LoopStatus};
use super::observation::ToolObservation;
use super::plan::{NO_TOOL_ANSWER, Plan, PlanAction};
use super::planner_run::{NextStep, PlannerRun, STEP, end_with_answer, end_with_failure};
use super::{approved_call, consent, gate, guard, planner, semantic, tool_call};
use crate::audit::Stage;
use crate::rules;
use crate::step_context::StepContext;
use crate::tool;
use crate::verbose::{Progress, publish_and_audit};

/// The answer when a call may not follow the previous one.
const BLOCKED_ANSWER: &str = "I cannot take that step here. Please put it another way, or tell me what is missing.";

/// The answer when the planner marks the operation as forbidden to the user.
const RESTRICTED_ANSWER: &str = "I may not change that here; I can only look things up.";

/// Why a call is not repeated whose outcome is unknown, for the planner.
const UNCERTAIN_CALL: &str = "this call has failed, but may have been carried out all the same: it is not made again in this turn";

/// Runs the loop if no gate is closed, with the rule passes before and after it.
pub async fn run(cx: &mut StepContext<'_>) {
    let has_asked = semantic::has_asked(&cx.session);
    lifecycle::clear_previous_turn(&mut cx.session);
    if cx.session.is_question_turn {
        gate::report_open_question(cx);
        return;
    }
    // A profile without dialogue acts has not taken the answer yet.
    tool::take_approval(cx);
    rules::run_pass(cx, Phase::PreAgentMcp, "McpToolStep PreMcp").await;
    // These rules may read what a tool of this turn left, and may change intent and state.
    if gate::is_closed(cx, has_asked) {
        return;
    }
    run_rounds(cx).await;
    rules::run_pass(cx, Phase::PostAgentMcp, STEP).await;
    cx.session.write_context();
}

async fn run_rounds(cx: &mut StepContext<'_>) {
    cx.audit(Stage::McpContextCleared, |_| json!({}));
    let config = cx.config;
    let limit = config.settings.tools.max_loops;
    lifecycle::open_loop(&mut cx.session, limit);
    consent::remember(cx);
    let mut run = PlannerRun::new(consent::plannable_tools(cx));
    run_all(cx, &mut run, limit).await;
    if run.has_changed_something {
        consent::use_up(cx);
    }
}

async fn run_all(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>, limit: usize) {
    if let Some(plan) = approved_call::resume(cx, run)
        && check_and_call(cx, run, &plan).await == NextStep::End
    {
        return;
    }
    while run.round < limit {
        run.round += 1;
        if run_round(cx, run).await == NextStep::End {
            return;
        }
    }
    lifecycle::mark_unanswered(&mut cx.session);
}

async fn run_round(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>) -> NextStep {
    let mut plan = match planner::request_plan(cx, &run.tools, &run.observations).await {
        Ok(plan) => plan,
        Err(error) => {
            let message = error.message;
            return end_with_failure(cx, LoopState::new(LoopStatus::Failed).with_message(&message));
        }
    };
    if let Some(code) = &plan.code {
        semantic::add_carried_args(code, &mut plan.args, &run.observations);
        if let Some(tool) = cx.config.tools.find(code, &cx.session.intent, &cx.session.state) {
            consent::insert_collected_values(cx, tool, &mut plan.args);
        }
    }
    publish_plan(cx, &plan);
    match plan.action {
        PlanAction::Answer => {
            end_with_answer(cx, plan.answer.as_deref().unwrap_or_default(), LoopState::for_plan(LoopStatus::Answered, &plan));
            publish_and_audit(cx, Stage::McpFinalAnswer, Progress::new(STEP, "MCP_FINAL_ANSWER"), json!({"answer": plan.answer}));
            NextStep::End
        }
        PlanAction::Call => check_and_call(cx, run, &plan).await,
    }
}

/// Publishes a plan before it is executed.
fn publish_plan(cx: &mut StepContext<'_>, plan: &Plan) {
    cx.session.set_param("mcp_action", plan.action.name());
    cx.session.set_param("mcp_tool_code", plan.code.clone());
    cx.session.set_param("mcp_tool_args", plan.args.clone());
    cx.session.set_param("mcp_operation_tag", plan.tag.clone());
    explain(cx, plan, "plan received");
    lifecycle::record_state_in_context(&mut cx.session, LoopState::for_plan(LoopStatus::InProgress, plan));
}

fn explain(cx: &StepContext<'_>, plan: &Plan, verdict: &str) {
    if let Some(explanation) = cx.effects.begin_explanation("planner") {
        let about = json!({"action": plan.action.name(), "tool": plan.code, "args": plan.args, "operationTag": plan.tag});
        explanation.with_subject(about).record(&cx.effects, verdict);
    }
}

/// Checks the plan and calls the tool.
async fn check_and_call(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>, plan: &Plan) -> NextStep {
    let code = plan.code.as_deref().unwrap_or_default();
    let signature = plan.signature();
    // A failed call does not count: an allowed sequence such as check-then-pay requires that the check succeeded.
    let current = run.observations.iter().rev().find(|it| !it.failed).map_or(guard::START_TOOL, |observation| observation.code.as_str());
    if guard::is_restricted(plan.tag.as_deref()) {
        let error = json!({
            "tool_code": code, "args": plan.args, "operation_tag": plan.tag, "error": "planner-marked restricted operation",
        });
        return block_call(cx, plan, RESTRICTED_ANSWER, "POLICY_RESTRICTED_OPERATION", error);
    }
    if run.succeeded_calls.contains(&signature) {
        return answer_repeated_call(cx, run, plan, code);
    }
    let payload = json!({
        "tool_code": code, "args": plan.args, "action": plan.action.name(), "intent": cx.session.intent, "state": cx.session.state,
        "routingDecision": cx.session.params.get("routing_decision"), "observation_count": run.observations.len(),
        "current_observation_tool": current,
    });
    tool_call::publish_call(cx, code, &payload);
    if let Some(reason) = guard::refusal_reason(&cx.config.settings.tools.next_tool, current, code) {
        let error = json!({"tool_code": code, "error": reason, "current_observation_tool": current});
        return block_call(cx, plan, BLOCKED_ANSWER, reason, error);
    }
    if run.uncertain_calls.contains(&signature) {
        return tool_call::refuse_call(cx, run, plan, None, UNCERTAIN_CALL);
    }
    let is_approved = run.approved_call.take().as_ref() == Some(&signature);
    if let Some(tool) = cx.config.tools.find(code, &cx.session.intent, &cx.session.state).filter(|_| !is_approved) {
        if let Some(reason) = consent::refusal_reason(cx, tool) {
            explain(cx, plan, reason);
            cx.session.set_param("mcp_tool_group", tool.group.clone());
            return tool_call::refuse_call(cx, run, plan, Some(tool), &format!("'{code}' is not called: {reason}"));
        }
        if tool.needs_approval() {
            explain(cx, plan, "the call waits for the user's approval");
            approved_call::ask(cx, run, plan, tool);
            return NextStep::End;
        }
    }
    cx.audit(Stage::McpToolCall, |_| payload);
    tool_call::perform_call(cx, run, plan, signature, is_approved).await
}

/// Ends the loop because a call is not allowed.
fn block_call(cx: &mut StepContext<'_>, plan: &Plan, answer: &str, reason: &str, error: Value) -> NextStep {
    explain(cx, plan, reason);
    end_with_answer(cx, answer, LoopState::for_plan(LoopStatus::Blocked, plan).with_message(reason));
    let progress = Progress { tool_code: plan.code.as_deref(), ..Progress::survived(STEP, "MCP_TOOL_ERROR") };
    publish_and_audit(cx, Stage::McpToolError, progress, error);
    NextStep::End
}

/// Ends the loop with the known result when a call that succeeded is planned again.
fn answer_repeated_call(cx: &mut StepContext<'_>, run: &PlannerRun<'_>, plan: &Plan, code: &str) -> NextStep {
    let newest = run.observations.iter().rev().find(|it| !it.failed).map(ToolObservation::to_value);
    let summary = newest.as_ref().and_then(|observation| observation.get("summary")?.as_str()).filter(|summary| !summary.trim().is_empty());
    let answer = summary.unwrap_or(NO_TOOL_ANSWER);
    explain(cx, plan, "the call already succeeded; its result is reused");
    end_with_answer(cx, answer, LoopState::for_plan(LoopStatus::Answered, plan));
    let progress = Progress { tool_code: Some(code), ..Progress::new(STEP, "MCP_DUPLICATE_TOOL_CALL_SUPPRESSED") };
    let payload = json!({"answer": answer, "reason": "DUPLICATE_TOOL_CALL_SUPPRESSED", "tool_code": code, "args": plan.args});
    publish_and_audit(cx, Stage::McpDuplicateToolCallSuppressed, progress, payload);
    NextStep::End
}

//! Calls that wait for the user's approval: the loop stops, and goes on in the next turn. (docs/decisions/0049-approval-of-tool-calls.md)

use convengine_config::Tool;
use serde_json::{Value, json};

use super::lifecycle;
use super::loop_state::{LoopState, LoopStatus};
use super::observation::ToolObservation;
use super::plan::{Plan, PlanAction};
use super::planner_run::{PlannerRun, STEP};
use crate::step_context::StepContext;
use crate::tool::{self, ToolCall};

/// Asks the user to approve the planned call, and stores what the loop needs to go on.
pub(super) fn ask(cx: &mut StepContext<'_>, run: &PlannerRun<'_>, plan: &Plan, tool: &Tool) {
    let observations: Vec<Value> = run.observations.iter().map(ToolObservation::to_stored).collect();
    let progress = json!({"observations": observations, "succeeded": run.succeeded_calls});
    let call = ToolCall { code: Some(tool.code.clone()), group: Some(tool.group.clone()), args: plan.args.clone() };
    tool::ask_approval(cx, STEP, &call, Some(progress));
    lifecycle::record_state(
        &mut cx.session,
        LoopState { group: Some(&tool.group), ..LoopState::for_plan(LoopStatus::ApprovalRequired, plan) },
    );
}

/// Restores the run that asked for the approved call; returns the call as a plan. `None` when the turn approves no planned call.
pub(super) fn resume(cx: &mut StepContext<'_>, run: &mut PlannerRun<'_>) -> Option<Plan> {
    let waiting = cx.session.approved_call.take_if(|call| call.get("planner").is_some_and(Value::is_object))?;
    let list = |name: &str| waiting.get("planner").and_then(|planner| planner.get(name)?.as_array()).cloned().unwrap_or_default();
    run.observations = list("observations").iter().filter_map(ToolObservation::from_stored).collect();
    run.succeeded_calls = list("succeeded").iter().filter_map(|signature| signature.as_str().map(str::to_owned)).collect();
    let call = ToolCall::parse(&waiting)?;
    let plan = Plan { action: PlanAction::Call, code: call.code, args: call.args, answer: None, tag: None };
    run.approved_call = Some(plan.signature());
    Some(plan)
}

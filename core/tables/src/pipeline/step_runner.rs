//! Runs one step with its audits, timings, step infos, hooks and progress messages. (docs/spec/pipeline.md#1.11)

use convengine_config::{HookStage, Step};
use convengine_text::json::into_members;
use convengine_turn::Fault;
use convengine_turn::{Millis, payload};
use serde_json::{Value, json};

use super::{StepOutcome, step};
use crate::audit::Stage;
use crate::extension;
use crate::session::{StepExit, StepInfo};
use crate::step_context::StepContext;
use crate::verbose::{Progress, publish};

/// Runs one step, including its hooks and audits.
pub(super) async fn run_step(cx: &mut StepContext<'_>, step: Step) -> Result<StepOutcome, Fault> {
    let name = step.name();
    enter_step(cx, name);
    extension::run_hooks(cx, name, HookStage::Before).await;
    let result = step::run(step, cx).await;
    let duration = record_exit(cx, name, &result);
    extension::run_hooks(cx, name, if result.is_ok() { HookStage::After } else { HookStage::Error }).await;
    match &result {
        Ok(flow) => publish_exit(cx, name, duration, *flow),
        Err(fault) => publish_failure(cx, name, duration, fault),
    }
    cx.effects.record_view(name, "after", || cx.session.observer_view());
    result
}

fn enter_step(cx: &mut StepContext<'_>, name: &'static str) {
    cx.effects.enter_step(name);
    cx.effects.record_view(name, "before", || cx.session.observer_view());
    let scope = (cx.session.intent.clone(), cx.session.state.clone());
    cx.session.step_infos.push(StepInfo { name, started: cx.effects.now(), scope, exit: None });
    cx.audit(Stage::StepEnter, |_| payload!({"step": name, "stepClass": name}));
    publish_step_progress(cx, Progress::new(name, "STEP_ENTER"), || json!({}));
}

/// Records the exit of a step; returns its duration.
fn record_exit(cx: &mut StepContext<'_>, name: &str, result: &Result<StepOutcome, Fault>) -> Millis {
    let at = cx.effects.now();
    let result = result.as_ref().map(|it| it.name()).map_err(|fault| (fault.code.name(), fault.message.clone()));
    let Some(info) = cx.session.step_infos.iter_mut().rfind(|it| it.name == name) else { return 0 };
    info.scope.0.clone_from(&cx.session.intent);
    info.scope.1.clone_from(&cx.session.state);
    info.exit = Some(StepExit { at, result });
    at.saturating_sub(info.started)
}

fn publish_exit(cx: &StepContext<'_>, name: &'static str, duration: Millis, flow: StepOutcome) {
    let outcome = flow.name();
    publish_step_progress(cx, Progress::new(name, "STEP_EXIT"), || json!({"result": outcome}));
    cx.audit(Stage::StepExit, |_| payload!({"step": name, "stepClass": name, "outcome": outcome, "durationMs": duration}));
}

fn publish_failure(cx: &StepContext<'_>, name: &'static str, duration: Millis, fault: &Fault) {
    let (error, message) = (fault.code.name(), &fault.message);
    publish_step_progress(cx, Progress::fatal(name, "STEP_ERROR"), || json!({"errorType": error, "errorMessage": message}));
    cx.audit(
        Stage::StepError,
        |_| payload!({"step": name, "stepClass": name, "durationMs": duration, "errorType": error, "errorMessage": message}),
    );
}

/// Publishes progress of a step, for the rule and tool named by the parameters.
fn publish_step_progress(cx: &StepContext<'_>, progress: Progress<'_>, extra: impl FnOnce() -> Value) {
    let params = &cx.session.params;
    let number = |value: &Value| value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    let tool = ["mcp_tool_code", "tool_code"].iter().find_map(|key| params.get(*key)?.as_str());
    let progress = Progress { rule_id: params.get("rule_id").and_then(number), tool_code: tool, ..progress };
    publish(cx, progress, || {
        let mut metadata = into_members(json!({"stepName": progress.step, "intent": cx.session.intent, "state": cx.session.state}));
        metadata.extend(into_members(extra()));
        metadata
    });
}

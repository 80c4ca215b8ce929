//! Runs one step with its audits, timings, step infos, hooks and progress messages. (docs/spec/pipeline.md#1.11)

use serde_json::{Value, json};

use super::Flow;
use crate::audit::Stage;
use crate::config::{HookMoment, Step};
use crate::extension;
use crate::fault::Fault;
use crate::json::members;
use crate::session::{StepInfo, StepLeft};
use crate::turn::Millis;
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Runs one step, including its hooks and audits.
pub(super) async fn run(cx: &mut Turning<'_>, step: Step) -> Result<Flow, Fault> {
    let name = step.name();
    enter(cx, name);
    extension::hook(cx, name, HookMoment::Before).await;
    let result = step.run(cx).await;
    let duration = left(cx, name, &result);
    extension::hook(cx, name, if result.is_ok() { HookMoment::After } else { HookMoment::Error }).await;
    match &result {
        Ok(flow) => leave(cx, name, duration, *flow),
        Err(fault) => fail(cx, name, duration, fault),
    }
    cx.door.view(name, "after", || cx.session.full_view());
    result
}

fn enter(cx: &mut Turning<'_>, name: &'static str) {
    cx.door.at_step(name);
    cx.door.view(name, "before", || cx.session.full_view());
    let scope = (cx.session.intent.clone(), cx.session.state.clone());
    cx.session.step_infos.push(StepInfo { name, started: cx.door.now(), place: scope, left: None });
    cx.audit(Stage::StepEnter, |_| json!({"step": name, "stepClass": name}));
    tell(cx, Progress::new(name, "STEP_ENTER"), || json!({}));
}

/// Records the exit of a step; returns its duration.
fn left(cx: &mut Turning<'_>, name: &str, result: &Result<Flow, Fault>) -> Millis {
    let at = cx.door.now();
    let scope = (cx.session.intent.clone(), cx.session.state.clone());
    let result = result.as_ref().map(|it| it.name()).map_err(|it| (it.code.name(), it.message.clone()));
    let Some(info) = cx.session.step_infos.iter_mut().rfind(|it| it.name == name) else { return 0 };
    info.place = scope;
    info.left = Some(StepLeft { at, result });
    at.saturating_sub(info.started)
}

fn leave(cx: &Turning<'_>, name: &'static str, duration: Millis, flow: Flow) {
    let outcome = flow.name();
    tell(cx, Progress::new(name, "STEP_EXIT"), || json!({"result": outcome}));
    cx.audit(Stage::StepExit, |_| json!({"step": name, "stepClass": name, "outcome": outcome, "durationMs": duration}));
}

fn fail(cx: &Turning<'_>, name: &'static str, duration: Millis, fault: &Fault) {
    let (error, message) = (fault.code.name(), &fault.message);
    tell(cx, Progress::error(name, "STEP_ERROR"), || json!({"errorType": error, "errorMessage": message}));
    cx.audit(
        Stage::StepError,
        |_| json!({"step": name, "stepClass": name, "durationMs": duration, "errorType": error, "errorMessage": message}),
    );
}

/// Publishes progress of a step, for the rule and tool named by the parameters.
fn tell(cx: &Turning<'_>, progress: Progress<'_>, extra: impl FnOnce() -> Value) {
    let params = &cx.session.params;
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let tool = ["mcp_tool_code", "tool_code"].iter().find_map(|it| params.get(*it)?.as_str());
    let progress = Progress { rule_id: params.get("rule_id").and_then(number), tool_code: tool, ..progress };
    publish(cx, progress, || {
        let mut metadata = members(json!({"stepName": progress.step, "intent": cx.session.intent, "state": cx.session.state}));
        metadata.extend(members(extra()));
        metadata
    });
}

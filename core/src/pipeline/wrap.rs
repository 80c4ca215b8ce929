//! What happens around every step: audits, timings, step infos and progress messages. (`spec/pipeline.md` 1.11)

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

/// Runs one step with everything around it.
pub(super) async fn run(t: &mut Turning<'_>, step: Step) -> Result<Flow, Fault> {
    let name = step.name();
    enter(t, name);
    extension::hook(t, name, HookMoment::Before).await;
    let result = step.run(t).await;
    let duration = left(t, name, &result);
    extension::hook(t, name, if result.is_ok() { HookMoment::After } else { HookMoment::Error }).await;
    match &result {
        Ok(flow) => leave(t, name, duration, *flow),
        Err(fault) => fail(t, name, duration, fault),
    }
    t.door.view(name, "after", || t.session.full_view());
    result
}

fn enter(t: &mut Turning<'_>, name: &'static str) {
    t.door.at_step(name);
    t.door.view(name, "before", || t.session.full_view());
    let place = (t.session.intent.clone(), t.session.state.clone());
    t.session.step_infos.push(StepInfo { name, started: t.door.now(), place, left: None });
    t.audit(Stage::StepEnter, |_| json!({"step": name, "stepClass": name}));
    tell(t, Progress::new(name, "STEP_ENTER"), || json!({}));
}

/// Notes how the step was left; returns its duration.
fn left(t: &mut Turning<'_>, name: &str, result: &Result<Flow, Fault>) -> Millis {
    let at = t.door.now();
    let place = (t.session.intent.clone(), t.session.state.clone());
    let result = result.as_ref().map(|it| it.name()).map_err(|it| (it.code.name(), it.message.clone()));
    let Some(info) = t.session.step_infos.iter_mut().rfind(|it| it.name == name) else { return 0 };
    info.place = place;
    info.left = Some(StepLeft { at, result });
    at.saturating_sub(info.started)
}

fn leave(t: &Turning<'_>, name: &'static str, duration: Millis, flow: Flow) {
    let outcome = flow.name();
    tell(t, Progress::new(name, "STEP_EXIT"), || json!({"result": outcome}));
    t.audit(Stage::StepExit, |_| json!({"step": name, "stepClass": name, "outcome": outcome, "durationMs": duration}));
}

fn fail(t: &Turning<'_>, name: &'static str, duration: Millis, fault: &Fault) {
    let (error, message) = (fault.code.name(), &fault.message);
    tell(t, Progress::error(name, "STEP_ERROR"), || json!({"errorType": error, "errorMessage": message}));
    t.audit(
        Stage::StepError,
        |_| json!({"step": name, "stepClass": name, "durationMs": duration, "errorType": error, "errorMessage": message}),
    );
}

/// Publishes progress of a step, for the rule and tool that the parameters name.
fn tell(t: &Turning<'_>, progress: Progress<'_>, more: impl FnOnce() -> Value) {
    let params = &t.session.params;
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let tool = ["mcp_tool_code", "tool_code"].iter().find_map(|it| params.get(*it)?.as_str());
    let progress = Progress { rule_id: params.get("rule_id").and_then(number), tool_code: tool, ..progress };
    publish(t, progress, || {
        let mut metadata = members(json!({"stepName": progress.step, "intent": t.session.intent, "state": t.session.state}));
        metadata.extend(members(more()));
        metadata
    });
}

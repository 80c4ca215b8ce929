//! What happens around every step: audits, timings, step infos and progress messages. (`spec/pipeline.md` 1.11)

use serde_json::{Value, json};

use super::Flow;
use super::step::Step;
use crate::audit::Stage;
use crate::fault::Fault;
use crate::turn::Millis;
use crate::turning::Turning;
use crate::verbose::{Progress, publish};

/// Runs one step with everything around it.
pub(super) async fn run(t: &mut Turning<'_>, step: Step) -> Result<Flow, Fault> {
    let name = step.name();
    let started = t.door.now();
    enter(t, name, started);
    let result = step.run(t).await;
    let duration = t.door.now() - started;
    t.session.timings.push((name, duration, result.is_ok()));
    match &result {
        Ok(flow) => leave(t, name, duration, *flow),
        Err(fault) => fail(t, name, duration, fault),
    }
    t.door.view(name, "after", || t.session.full_view());
    result
}

fn enter(t: &mut Turning<'_>, name: &'static str, started: Millis) {
    t.door.at_step(name);
    t.door.view(name, "before", || t.session.full_view());
    let info = json!({
        "stepName": name,
        "stepClass": name,
        "determinant": "STEP_ENTER",
        "status": "IN_PROGRESS",
        "startedAtNs": started * 1_000_000,
        "metadata": {"intent": t.session.intent, "state": t.session.state},
        "data": {},
    });
    t.session.step_infos.insert(name.to_owned(), info);
    t.audit(Stage::StepEnter, |_| json!({"step": name, "stepClass": name}));
    tell(t, Progress::new(name, "STEP_ENTER"), json!({}));
}

fn leave(t: &mut Turning<'_>, name: &'static str, duration: Millis, flow: Flow) {
    let outcome = flow.name();
    let change = json!({"determinant": "STEP_EXIT", "status": "SUCCESS", "outcome": outcome, "data": {"resultType": outcome}});
    update(t, name, duration, change);
    tell(t, Progress::new(name, "STEP_EXIT"), json!({"result": outcome}));
    t.audit(Stage::StepExit, |_| json!({"step": name, "stepClass": name, "outcome": outcome, "durationMs": duration}));
}

fn fail(t: &mut Turning<'_>, name: &'static str, duration: Millis, fault: &Fault) {
    let error = json!({"errorType": fault.code.name(), "errorMessage": fault.message});
    let mut change = json!({"determinant": "STEP_ERROR", "status": "ERROR", "error": fault.message, "data": error});
    merge(&mut change, &error);
    update(t, name, duration, change);
    tell(t, Progress::error(name, "STEP_ERROR"), error.clone());
    t.audit(Stage::StepError, |_| {
        let mut payload = json!({"step": name, "stepClass": name, "durationMs": duration});
        merge(&mut payload, &error);
        payload
    });
}

fn update(t: &mut Turning<'_>, name: &str, duration: Millis, change: Value) {
    let ended = t.door.now();
    let place = json!({"intent": t.session.intent, "state": t.session.state});
    let Some(info) = t.session.step_infos.get_mut(name) else { return };
    merge(info, &change);
    merge(info, &json!({"endedAtNs": ended * 1_000_000, "durationMs": duration, "metadata": place}));
}

fn merge(object: &mut Value, change: &Value) {
    if let (Some(members), Some(change)) = (object.as_object_mut(), change.as_object()) {
        members.extend(change.clone());
    }
}

/// Publishes progress of a step, for the rule and tool that the parameters name.
fn tell(t: &Turning<'_>, progress: Progress<'_>, more: Value) {
    let params = &t.session.params;
    let number = |it: &Value| it.as_i64().or_else(|| it.as_str()?.trim().parse().ok());
    let tool = ["mcp_tool_code", "tool_code"].iter().find_map(|it| params.get(*it)?.as_str());
    let progress = Progress { rule_id: params.get("rule_id").and_then(number), tool_code: tool, ..progress };
    publish(t, progress, || {
        let mut metadata = json!({"stepName": progress.step, "intent": t.session.intent, "state": t.session.state});
        merge(&mut metadata, &more);
        metadata.as_object().cloned().unwrap_or_default()
    });
}

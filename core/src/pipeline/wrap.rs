//! What happens around every step: audits, timings, step infos and progress messages. (`spec/pipeline.md` 1.11)

use serde_json::{Value, json};

use super::Flow;
use super::step::Step;
use crate::audit::Stage;
use crate::fault::Fault;
use crate::turn::{Map, Millis};
use crate::turning::Turning;
use crate::verbose::{Event, publish};

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
    publish(t, Event::new(name, "STEP_ENTER"), || metadata(t, name, &[]));
}

fn leave(t: &mut Turning<'_>, name: &'static str, duration: Millis, flow: Flow) {
    update(t, name, duration, &[("determinant", json!("STEP_EXIT")), ("status", json!("SUCCESS")), ("outcome", json!(flow.name()))]);
    publish(t, Event::new(name, "STEP_EXIT"), || metadata(t, name, &[("result", json!(flow.name()))]));
    t.audit(Stage::StepExit, |_| json!({"step": name, "stepClass": name, "outcome": flow.name(), "durationMs": duration}));
}

fn fail(t: &mut Turning<'_>, name: &'static str, duration: Millis, fault: &Fault) {
    let error = [("errorType", json!(fault.code.name())), ("errorMessage", json!(fault.message))];
    update(t, name, duration, &[("determinant", json!("STEP_ERROR")), ("status", json!("ERROR"))]);
    update(t, name, duration, &error);
    publish(t, Event::error(name, "STEP_ERROR"), || {
        metadata(t, name, &[("error", json!({"code": fault.code.name(), "message": fault.message}))])
    });
    t.audit(Stage::StepError, |_| {
        let mut payload = json!({"step": name, "stepClass": name, "durationMs": duration});
        for (key, value) in error {
            merge(&mut payload, key, value);
        }
        payload
    });
}

fn update(t: &mut Turning<'_>, name: &str, duration: Millis, changes: &[(&str, Value)]) {
    let ended = t.door.now();
    let (intent, state) = (t.session.intent.clone(), t.session.state.clone());
    let Some(info) = t.session.step_infos.get_mut(name) else { return };
    for (key, value) in changes {
        merge(info, key, value.clone());
    }
    merge(info, "endedAtNs", json!(ended * 1_000_000));
    merge(info, "durationMs", json!(duration));
    merge(info, "metadata", json!({"intent": intent, "state": state}));
}

fn merge(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

fn metadata(t: &Turning<'_>, name: &str, more: &[(&str, Value)]) -> Map {
    let known = [("stepName", json!(name)), ("intent", json!(t.session.intent)), ("state", json!(t.session.state))];
    known.into_iter().chain(more.iter().cloned()).map(|(key, value)| (key.to_owned(), value)).collect()
}

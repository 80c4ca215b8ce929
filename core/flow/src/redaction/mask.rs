//! Redacts sessions that are shown to operators (docs/spec/flows-http.md#4).

use convengine_config::flow::Flow;
use convengine_config::flow::document::NodeKind;
use convengine_text::variable_path::VariablePath;
use convengine_turn::Map;
use serde_json::{Value, json};

use super::personal::mask_trace;
use super::values::{Redactions, collect_scalars};

/// Minimum digits of a number to be redacted elsewhere; shorter numbers are usually counts.
const MIN_NUMBER_DIGITS: usize = 4;

/// Replaces each redacted variable of a state by `[name]`, and its value wherever else it occurs: in variables, history and `awaiting`, and
/// in the `event` and `data` of a turn that is published. Of an AI agent, personal data in these two is masked as well.
///
/// A document says which variables are redacted. Numbers of fewer than four digits are not searched for elsewhere: they are usually counts.
pub fn redact_session(flow: &Flow, state: &mut Value) {
    if let Some(policy) = &flow.document.agent {
        for place in ["/event", "/data"] {
            if let Some(value) = state.pointer_mut(place) {
                *value = mask_trace(policy, value.take());
            }
        }
    }
    let mut values = Vec::new();
    redact_variables(flow, flow, state, &mut values);
    if values.is_empty() {
        return;
    }
    let redactions = Redactions::new(values, MIN_NUMBER_DIGITS);
    let redact = |value: &mut Value| *value = redactions.redact_value(value.take());
    for place in ["/vars", "/history", "/awaiting", "/event", "/data"] {
        if let Some(value) = state.pointer_mut(place) {
            redact(value);
        }
    }
    let frames = state.get_mut("stack").and_then(Value::as_array_mut).into_iter().flatten();
    frames.filter_map(|it| it.get_mut("locals")).for_each(redact);
}

/// Replaces the redacted variables of a state and of the nested programs in it, and collects their values.
fn redact_variables(root: &Flow, flow: &Flow, state: &mut Value, found: &mut Vec<(String, String)>) {
    for path in flow.redacted_variables() {
        let frames = state.get_mut("stack").and_then(Value::as_array_mut).into_iter().flatten();
        let locals = frames.filter_map(|frame| frame.get_mut("locals")?.as_object_mut());
        locals.for_each(|it| redact_variable(path, it, found));
        for place in ["/vars", "/event/params"] {
            if let Some(vars) = state.pointer_mut(place).and_then(Value::as_object_mut) {
                redact_variable(path, vars, found);
                redact_candidate(path, vars, found);
            }
        }
    }
    let children = state.pointer_mut("/vars/_child").and_then(Value::as_object_mut).into_iter().flatten();
    for (node, child) in children {
        let Some(NodeKind::Program(data)) = flow.node(&flow.document.root, node).map(|it| &it.kind) else { continue };
        if let Some(flow) = root.find_bound(data) {
            redact_variables(root, flow, child, found);
        }
    }
}

fn redact_variable(path: &VariablePath, vars: &mut Map, found: &mut Vec<(String, String)>) {
    let Some(value) = path.find(vars).filter(|it| !it.is_null()).cloned() else { return };
    collect_scalars(&value, path, found);
    // Cannot fail: the path exists.
    let _ = path.set(vars, json!(format!("[{path}]")));
}

/// Redacts a value that the user has not confirmed yet.
fn redact_candidate(path: &VariablePath, vars: &mut Map, found: &mut Vec<(String, String)>) {
    let Some(slot) = vars.get_mut("_slot").and_then(Value::as_object_mut) else { return };
    let variable = slot.get("variable").and_then(Value::as_str).and_then(|name| VariablePath::parse(name).ok());
    let Some(value) = slot.get_mut("candidate").filter(|_| variable.is_some_and(|it| it.starts_with(path))) else { return };
    collect_scalars(value, path, found);
    *value = json!(format!("[{path}]"));
}

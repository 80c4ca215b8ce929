//! The first difference between what is stored and what a replay returns.

use convengine_core::json::diff;
use convengine_core::turn::AuditPayload;
use serde_json::{Number, Value, json};

use convengine_storage::audit::AuditRow;

/// Members with times and durations, which differ between runs.
const TIMING_MEMBERS: [&str; 3] = ["at", "durationMs", "totalMs"];

/// Precedes the stages of workflow graphs.
const WORKFLOW_PREFIX: &str = "workflow.";

/// Returns the first difference between audit rows.
pub(super) fn first_difference(stored: &[AuditRow], derived: &[(&str, &AuditPayload)], plain: bool) -> Vec<String> {
    for (row, (stage, payload)) in stored.iter().zip(derived) {
        if row.stage == *stage && row.payload_json == payload.to_string() {
            continue;
        }
        let payload_stored = serde_json::from_str(&row.payload_json).unwrap_or_else(|_| Value::from(row.payload_json.as_str()));
        let mut right = json!({"stage": stage, "payload": payload});
        // Release 0.1.0 wrote the stages of workflows without their prefix, and the entry of a node without the workflow.
        let is_of_first_release = stage.strip_prefix(WORKFLOW_PREFIX) == Some(row.stage.as_str());
        if is_of_first_release && let Some(members) = right.get_mut("payload").and_then(Value::as_object_mut) {
            members.remove("workflow");
        }
        let left = json!({"stage": if is_of_first_release { *stage } else { row.stage.as_str() }, "payload": payload_stored});
        let found = if plain { differing_leaves(&normalize_jsonb(left), &normalize_jsonb(right)) } else { differing_leaves(&left, &right) };
        if !found.is_empty() {
            return std::iter::once(format!("audit row {} {}", row.audit_id, row.stage)).chain(found).collect();
        }
    }
    derived.get(stored.len()).map(|(stage, _)| format!("the audit row {stage} is missing")).into_iter().collect()
}

/// Returns a line about the first node of a flow that is left by another port, or that another node takes the place of. Ports are given as
/// `graph/node:port`; one list may end earlier.
pub(super) fn differing_port(recorded: &[String], replayed: &[String]) -> Option<String> {
    let (recorded, replayed) = recorded.iter().zip(replayed).find(|it| it.0 != it.1)?;
    let (node, port) = recorded.split_once(':')?;
    let (other_node, other_port) = replayed.split_once(':')?;
    Some(match node == other_node {
        true => format!("the node {node} is left by the port '{other_port}' instead of '{port}'"),
        false => format!("the node {other_node} is left by the port '{other_port}' where the node {node} was left by '{port}'"),
    })
}

/// Normalizes a value as a `jsonb` column does: without NUL, and with integral floats as integers.
fn normalize_jsonb(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace('\0', "\u{fffd}").into(),
        Value::Number(number) => integral_value(&number).map_or(Value::Number(number), Value::from),
        Value::Array(items) => items.into_iter().map(normalize_jsonb).collect(),
        Value::Object(map) => map.into_iter().map(|(key, it)| (key.replace('\0', "\u{fffd}"), normalize_jsonb(it))).collect(),
        Value::Null | Value::Bool(_) => value,
    }
}

/// Returns an integral float as an integer.
fn integral_value(number: &Number) -> Option<i64> {
    let digits = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    format!("{digits:.0}").parse().ok()
}

/// Returns the differing leaves, ignoring sequence numbers, times and durations.
pub(super) fn differing_leaves(left: &Value, right: &Value) -> Vec<String> {
    let is_timing = |it: &Value| it.get("stage").is_some_and(|stage| stage == "PIPELINE_TIMING");
    if is_timing(left) && is_timing(right) {
        return Vec::new();
    }
    let counts = |it: &diff::Difference| it.field != "seq" && !TIMING_MEMBERS.contains(&it.field.rsplit('.').next().unwrap_or_default());
    diff::diff_leaves(left, right).iter().filter(|it| counts(it)).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_jsonb_stores_them() {
        let written = json!({"a\u{0}": [1e16, 2.0, 0.5, -0.0, 1e300, "x\u{0}"], "b": null});
        let read = json!({"b": null, "a\u{fffd}": [10_000_000_000_000_000_i64, 2.0, 0.5, 0.0, 1e300, "x\u{fffd}"]});
        assert_eq!(normalize_jsonb(written), normalize_jsonb(read));
        assert_ne!(normalize_jsonb(json!([2])), normalize_jsonb(json!([2.5])));
    }

    #[test]
    fn the_first_other_port_is_named_with_its_node() {
        let ports = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<String>>();
        let recorded = ports(&["g/in:out", "g/branch:out", "g/say:btn:yes"]);
        let found = |replayed: &[&str]| differing_port(&recorded, &ports(replayed));
        assert_eq!(found(&["g/in:out", "g/branch:else"]).as_deref(), Some("the node g/branch is left by the port 'else' instead of 'out'"));
        let other = "the node g/ask is left by the port 'out' where the node g/say was left by 'btn:yes'";
        assert_eq!(found(&["g/in:out", "g/branch:out", "g/ask:out"]).as_deref(), Some(other));
        assert_eq!((found(&["g/in:out"]), found(&[])), (None, None));
    }
}

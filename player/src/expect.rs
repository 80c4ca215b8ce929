//! Compares a played turn with the `expect` member of its pack. (docs/spec/interface.md#3)

use convengine_core::json::diff::{self, Difference};
use convengine_core::pack::ScriptedCall;
use serde_json::{Value, json};

/// The result of a played turn, in the form of an `expect`.
#[derive(Debug, Clone, Default)]
pub struct PlayedTurn {
    /// HTTP status.
    pub status: u16,
    /// The response, with `context` parsed.
    pub json: Value,
    /// Audit rows in order, as stage and payload.
    pub audit: Vec<(String, Value)>,
    /// Model calls in order.
    pub llm: Vec<Value>,
    /// All scripted calls in order.
    pub scripted_calls: Vec<ScriptedCall>,
    /// All effect requests in order; in the core only.
    pub requests: Vec<Value>,
    /// The flow session after the turn; in the core only.
    pub session: Value,
    /// The conversation's row after the turn.
    pub conversation: Value,
    /// The conversation's history rows.
    pub history: Vec<Value>,
    /// Progress messages.
    pub verbose: Vec<Value>,
}

/// Members that differ between runs.
const VOLATILE: [&str; 15] = [
    "timestamp",
    "snapshot",
    "created_at",
    "updated_at",
    "modified_at",
    "createdAt",
    "history_id",
    "auditId",
    "durationMs",
    "latencyMs",
    "startedAtNs",
    "endedAtNs",
    "metadata",
    // Lengths of texts that contain a latency.
    "mcp_observations_raw_chars",
    "mcp_observations_final_chars",
];

/// Precedes a latency in tool results that are JSON within text.
const LATENCY_MEMBER: &str = "\"latencyMs\":";

/// The suffix of further volatile member names.
const TIME_SUFFIX: &str = "_epoch_ms";

/// Members of audit payloads that recordings omit, as stage and member; `*` is every member.
const UNRECORDED_MEMBERS: [(&str, &str); 23] = [
    ("ENGINE_RETURN", "final_result"),
    ("ENGINE_KNOWN_FAILURE", "exception"),
    ("ENGINE_UNKNOWN_FAILURE", "exception"),
    ("PIPELINE_TIMING", "*"),
    ("STEP_ERROR", "*"),
    ("DIALOGUE_ACT_LLM_INPUT", "*"),
    ("DIALOGUE_ACT_LLM_ERROR", "exception"),
    ("INTENT_AGENT_LLM_INPUT", "*"),
    ("SCHEMA_EXTRACTION_LLM_INPUT", "system_prompt"),
    ("SCHEMA_EXTRACTION_LLM_INPUT", "user_prompt"),
    ("SCHEMA_EXTRACTION_LLM_INPUT", "schema"),
    ("RESOLVE_RESPONSE_LLM_INPUT", "*"),
    ("RESOLVE_RESPONSE_SELECTED", "resolver"),
    ("RESOLVE_RESPONSE_SELECTED", "templateDesc"),
    ("MCP_PLAN_LLM_INPUT", "templateFromCeConfig (McpPlanner)"),
    ("MCP_PLAN_LLM_INPUT", "system_prompt"),
    ("MCP_PLAN_LLM_INPUT", "user_prompt"),
    ("MCP_PLAN_LLM_INPUT", "schema"),
    ("SET_JSON", "sessionInputParams"),
    ("GET_CONTEXT", "sessionInputParams"),
    ("GET_SCHEMA_JSON", "sessionInputParams"),
    ("GET_SESSION", "sessionInputParams"),
    ("GET_SESSION", "session"),
];

/// Stages that an expected audit omits.
const UNLISTED_STAGES: [&str; 3] = ["STEP_ENTER", "STEP_EXIT", "PROMPT_RENDERING"];

/// Stands in an expectation for a member that must be missing where others that are not named are not compared.
pub(super) fn absent() -> Value {
    json!({"$absent": true})
}

/// Returns an expectation without its volatile members.
pub fn without_volatile(expect: &Value) -> Value {
    let mut expect = expect.clone();
    drop_volatile(&mut expect);
    drop_null_purposes(&mut expect);
    expect
}

/// Ignores the purpose of recorded calls without one, which used an author's template.
fn drop_null_purposes(expect: &mut Value) {
    let calls = expect.get_mut("llm").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut);
    for call in calls.filter(|call| call.get("purpose").is_some_and(Value::is_null)) {
        call.remove("purpose");
    }
}

fn drop_volatile(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !VOLATILE.contains(&key.as_str()) && !key.ends_with(TIME_SUFFIX) && !key.ends_with("__parsed"));
            members.values_mut().for_each(drop_volatile);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_volatile),
        Value::String(text) if text.contains(LATENCY_MEMBER) => *text = without_latency(text),
        _ => {}
    }
}

fn without_latency(text: &str) -> String {
    let mut pieces = text.split(LATENCY_MEMBER);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + LATENCY_MEMBER + "0" + piece.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Returns the fields in which a turn differs from its expectation, with the expected value on the left and the actual on the right.
///
/// `expect` is a result of [`without_volatile`]. Only members it names are compared.
pub fn differences(expect: &Value, played: &PlayedTurn) -> Vec<Difference> {
    let mut found = Vec::new();
    let Some(expect) = expect.as_object() else { return found };
    for (name, expected) in expect {
        match name.as_str() {
            "status" => compare_whole("status", expected, &json!(played.status), &mut found),
            "json" => compare_members("json", expected, &played.json, &mut found),
            "steps" => compare_whole("steps", expected, &json!(entered_steps(played)), &mut found),
            "audit" => compare_audit(expected, played, &mut found),
            "llm" => compare_calls(expected, &played.llm, &mut found),
            "conversation" => compare_members("conversation", expected, &played.conversation, &mut found),
            "history" => compare_lists("history", expected, &played.history, &mut found),
            "verbose" => compare_lists("verbose", expected, &played.verbose, &mut found),
            other => found.push(Difference { field: other.to_owned(), left: Some(expected.clone()), right: None }),
        }
    }
    found
}

fn entered_steps(played: &PlayedTurn) -> Vec<&Value> {
    played.audit.iter().filter(|it| it.0 == "STEP_ENTER").map(|it| &it.1["step"]).collect()
}

fn compare_whole(field: &str, expected: &Value, ours: &Value, found: &mut Vec<Difference>) {
    if !is_equal(expected, ours) {
        found.push(Difference { field: field.to_owned(), left: Some(expected.clone()), right: Some(ours.clone()) });
    }
}

/// Compares the members named by the expectation; of those, [`absent`] ones must be missing.
fn compare_members(field: &str, expected: &Value, ours: &Value, found: &mut Vec<Difference>) {
    let mut ours = ours.clone();
    drop_volatile(&mut ours);
    if expected.is_array() && ours.is_array() {
        return compare_leaves(field, Some(expected), Some(&ours), found);
    }
    let (Some(expected), Some(ours)) = (expected.as_object(), ours.as_object()) else {
        return compare_whole(field, expected, &ours, found);
    };
    for (key, value) in expected {
        compare_leaves(&format!("{field}.{key}"), Some(value).filter(|value| **value != absent()), ours.get(key), found);
    }
}

/// Compares model calls. The prompt of an unexpected call is dropped from the difference, because it contains dates.
fn compare_calls(expected: &Value, ours: &[Value], found: &mut Vec<Difference>) {
    let begin = found.len();
    compare_lists("llm", expected, ours, found);
    for extra in found.iter_mut().skip(begin).filter(|it| it.left.is_none()).filter_map(|pair| pair.right.as_mut()?.as_object_mut()) {
        extra.remove("prompt");
    }
}

fn compare_lists(field: &str, expected: &Value, ours: &[Value], found: &mut Vec<Difference>) {
    let Some(items) = expected.as_array() else { return compare_whole(field, expected, &json!(ours), found) };
    for index in 0..items.len().max(ours.len()) {
        let name = format!("{field}[{index}]");
        match (items.get(index), ours.get(index)) {
            (Some(expected), Some(ours)) => compare_members(&name, expected, ours, found),
            (left, right) => found.push(Difference { field: name, left: left.cloned(), right: right.cloned() }),
        }
    }
}

fn compare_leaves(field: &str, expected: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    let (Some(expected), Some(ours)) = (expected, ours) else {
        if expected != ours {
            found.push(Difference { field: field.to_owned(), left: expected.cloned(), right: ours.cloned() });
        }
        return;
    };
    for mut leaf in diff::diff_leaves(expected, ours) {
        let (Some(left), Some(right)) = (&leaf.left, &leaf.right) else {
            leaf.field = join_path(field, &leaf.field);
            found.push(leaf);
            continue;
        };
        if !is_equal(left, right) {
            leaf.field = join_path(field, &leaf.field);
            found.push(leaf);
        }
    }
}

fn join_path(field: &str, leaf: &str) -> String {
    match leaf.chars().next() {
        None => field.to_owned(),
        Some('[') => format!("{field}{leaf}"),
        Some(_) => format!("{field}.{leaf}"),
    }
}

/// Compares values: `{"$len", "$head"}` matches a long text, and numbers are compared by value.
fn is_equal(expected: &Value, ours: &Value) -> bool {
    if let (Some(length), Some(head), Some(text)) = (expected.get("$len"), expected.get("$head"), ours.as_str()) {
        let head = head.as_str().unwrap_or_default();
        return length.as_u64() == u64::try_from(text.chars().count()).ok() && text.starts_with(head);
    }
    match (expected.as_f64(), ours.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => expected == ours,
    }
}

/// Compares audit rows, aligned by stage and rule, so that a missing or extra row is a single difference.
fn compare_audit(expected: &Value, played: &PlayedTurn, found: &mut Vec<Difference>) {
    let Some(rows) = expected.as_array() else { return compare_whole("audit", expected, &Value::Null, found) };
    let listed = |row: &&(String, Value)| !UNLISTED_STAGES.contains(&row.0.as_str());
    let ours: Vec<&(String, Value)> = played.audit.iter().filter(listed).collect();
    let left: Vec<String> = rows.iter().map(|row| row_key(row["stage"].as_str().unwrap_or_default(), &row["payload"])).collect();
    let right: Vec<String> = ours.iter().map(|it| row_key(&it.0, &it.1)).collect();
    let recorded_stages: Vec<&str> = rows.iter().map(|row| row["stage"].as_str().unwrap_or_default()).collect();
    let our_stages: Vec<&str> = ours.iter().map(|it| it.0.as_str()).collect();
    for pair in align(&left, &right) {
        match pair {
            (Some(i), Some(j)) => compare_audit_row(&audit_field(i, &recorded_stages), &rows[i], ours[j], found),
            (Some(i), None) => {
                found.push(Difference { field: audit_field(i, &recorded_stages), left: Some(rows[i].clone()), right: None });
            }
            (None, Some(j)) => {
                let mut payload = strip_volatile(&ours[j].1);
                if let Some(members) = payload.as_object_mut() {
                    members.retain(|name, _| !is_unrecorded(&ours[j].0, name));
                }
                let payload = if is_unrecorded(&ours[j].0, "*") { Value::Null } else { payload };
                let row = json!({"stage": ours[j].0, "payload": payload});
                found.push(Difference { field: audit_field(j, &our_stages), left: None, right: Some(row) });
            }
            (None, None) => {}
        }
    }
}

/// Names an audit row by its stage, and by its number if it is not the first of the stage: `audit.STAGE`, `audit.STAGE#2`.
fn audit_field(index: usize, stages: &[&str]) -> String {
    let stage = stages[index];
    match stages[..index].iter().filter(|it| **it == stage).count() {
        0 => format!("audit.{stage}"),
        before => format!("audit.{stage}#{}", before + 1),
    }
}

fn row_key(stage: &str, payload: &Value) -> String {
    format!("{stage} {}", payload.get("ruleId").unwrap_or(&Value::Null))
}

fn is_unrecorded(stage: &str, member: &str) -> bool {
    UNRECORDED_MEMBERS.iter().any(|unrecorded| unrecorded.0 == stage && (unrecorded.1 == member || unrecorded.1 == "*"))
}

fn strip_volatile(payload: &Value) -> Value {
    let mut payload = payload.clone();
    drop_volatile(&mut payload);
    payload
}

fn compare_audit_row(field: &str, expected: &Value, ours: &(String, Value), found: &mut Vec<Difference>) {
    if let Some(step) = expected.get("step") {
        compare_leaves(&format!("{field}.step"), Some(step), ours.1.get("step"), found);
    }
    let Some(payload) = expected.get("payload") else { return };
    let mut right = strip_volatile(&ours.1);
    if let (Some(members), Some(recorded)) = (right.as_object_mut(), payload.as_object()) {
        members.retain(|name, _| recorded.contains_key(name) || !is_unrecorded(&ours.0, name));
    }
    compare_leaves(field, Some(payload), Some(&right), found);
}

/// Aligns two lists by their longest common subsequence.
fn align(left: &[String], right: &[String]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut lengths = vec![vec![0usize; right.len() + 1]; left.len() + 1];
    for i in (0..left.len()).rev() {
        for j in (0..right.len()).rev() {
            lengths[i][j] = if left[i] == right[j] { lengths[i + 1][j + 1] + 1 } else { lengths[i + 1][j].max(lengths[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < left.len() || j < right.len() {
        if i < left.len() && j < right.len() && left[i] == right[j] {
            pairs.push((Some(i), Some(j)));
            (i, j) = (i + 1, j + 1);
        } else if i < left.len() && (j == right.len() || lengths[i + 1][j] >= lengths[i][j + 1]) {
            pairs.push((Some(i), None));
            i += 1;
        } else {
            pairs.push((None, Some(j)));
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played() -> PlayedTurn {
        let audit = ["USER_INPUT", "RULE_MATCH (RulesStep)", "STEP_ENTER", "ENGINE_RETURN"];
        PlayedTurn {
            status: 200,
            json: json!({"intent": "A", "payload": {"type": "TEXT", "value": "hello"}, "context": {"mcp": 1, "x": 1.0}}),
            audit: audit.iter().map(|stage| ((*stage).to_owned(), json!({"a": 1, "step": "S"}))).collect(),
            llm: vec![json!({"purpose": "policy", "kind": "json_strict"})],
            ..PlayedTurn::default()
        }
    }

    fn fields(expect: Value) -> Vec<String> {
        differences(&without_volatile(&expect), &played()).into_iter().map(|it| it.field).collect()
    }

    #[test]
    fn only_what_is_expected_is_compared() {
        let json = json!({"intent": "A", "context": {"mcp": 1, "x": 1}});
        assert_eq!(fields(json!({"status": 200, "json": json, "llm": [{"purpose": "policy"}]})), [""; 0]);
        assert_eq!(fields(json!({"json": {"context": {"x": 1}}})), ["json.context.mcp"]);
        assert_eq!(fields(json!({"json": {"intent": "B", "state": "S"}})), ["json.intent", "json.state"]);
        assert_eq!(fields(json!({"json": {"intent": absent(), "state": absent()}})), ["json.intent"]);
        assert_eq!(fields(json!({"json": {"payload": {"type": "TEXT", "value": {"$len": 5, "$head": "hel"}}}})), [""; 0]);
        assert_eq!(fields(json!({"json": {"payload": {"type": "TEXT", "value": {"$len": 6, "$head": "hel"}}}})), ["json.payload.value"]);
    }

    #[test]
    fn a_row_more_or_less_is_one_difference() {
        let row = |stage: &str| json!({"stage": stage, "payload": {"a": 1, "step": "S"}});
        let expect =
            json!({"audit": [row("USER_INPUT"), row("GONE"), row("RULE_MATCH (RulesStep)"), {"stage": "ENGINE_RETURN"}], "steps": ["S"]});
        assert_eq!(fields(expect), ["audit.GONE"]);
        assert_eq!(fields(json!({"audit": [row("USER_INPUT")]})), ["audit.RULE_MATCH (RulesStep)", "audit.ENGINE_RETURN"]);
    }

    #[test]
    fn an_unknown_part_of_an_expectation_is_a_difference() {
        assert_eq!(fields(json!({"statsu": 200})), ["statsu"]);
    }
}

//! Evaluates the checks of a talk against a played turn.

use convengine_core::json::diff::Difference;
use convengine_core::pack::{Check, PackAnswer, PackTurn};
use serde_json::{Value, json};

use super::expect::PlayedTurn;

/// Returns the failed checks of a turn, with the expected value on the left and the actual value on the right.
pub fn failed_checks(turn: &PackTurn, played: &PlayedTurn) -> Vec<Difference> {
    let mut found = Vec::new();
    let expects_failure = turn.checks.iter().any(|checked| matches!(checked.check, Check::Fails(_)));
    if turn.line > 0 && !expects_failure && !played.json["errorCode"].is_null() {
        found.push(difference(turn.line, "success", json!(true), failure_json(played)));
    }
    found.extend(check_answer_order(&turn.answers, played));
    for checked in &turn.checks {
        if let Some((what, expected, ours)) = evaluate_check(&checked.check, played) {
            found.push(difference(checked.line, what, expected, ours));
        }
    }
    found
}

fn difference(line: u32, what: &str, expected: Value, ours: Value) -> Difference {
    Difference { field: format!("line {line} {what}"), left: Some(expected), right: Some(ours) }
}

fn failure_json(played: &PlayedTurn) -> Value {
    json!({"errorCode": played.json["errorCode"], "message": played.json["message"]})
}

/// Checks that all scripted answers of a turn were requested, in order.
fn check_answer_order(answers: &[PackAnswer], played: &PlayedTurn) -> Option<Difference> {
    let mut open: Vec<&PackAnswer> = answers.iter().collect();
    for call in &played.scripted_calls {
        let Some(position) = open.iter().position(|it| it.call == *call) else { continue };
        let answer = open.remove(position);
        if position > 0 {
            let expected = open.first().copied().unwrap_or(answer);
            return Some(difference(
                expected.line,
                "answer",
                json!(expected.call.to_string()),
                json!(format!("'{call}' was requested first")),
            ));
        }
    }
    let left = open.first()?;
    let calls: Vec<String> = played.scripted_calls.iter().map(ToString::to_string).collect();
    Some(difference(
        left.line,
        "answer",
        json!(left.call.to_string()),
        json!(format!("not requested; requests were: {}", calls.join(", "))),
    ))
}

/// Evaluates a check. Returns its name, the expected and the actual value when it fails.
fn evaluate_check(check: &Check, played: &PlayedTurn) -> Option<(&'static str, Value, Value)> {
    let value = &played.json["payload"]["value"];
    let reply = value.as_str().unwrap_or_default();
    let calls = || json!(played.scripted_calls.iter().map(ToString::to_string).collect::<Vec<_>>());
    let texts = || played.verbose.iter().map(|event| event["text"].clone()).collect::<Vec<Value>>();
    let is = |right: bool, what, expected: Value, ours: Value| (!right).then_some((what, expected, ours));
    match check {
        Check::Reply(text) => is(reply == text, "reply", json!(text), value.clone()),
        Check::ReplyContains(text) => is(reply.contains(text.as_str()), "reply contains", json!(text), value.clone()),
        Check::ReplyJson(json) => is(serde_json::from_str(reply).is_ok_and(|it| is_equal(&it, json)), "reply", json.clone(), value.clone()),
        Check::Fails(code) => is(played.json["errorCode"] == json!(code), "error", json!(code), failure_json(played)),
        Check::Place { intent, state } => {
            let ours = (&played.json["intent"], &played.json["state"]);
            is(*ours.0 == json!(intent) && *ours.1 == json!(state), "place", json!([intent, state]), json!([ours.0, ours.1]))
        }
        Check::Stages(stages) => {
            let mut left = played.audit.iter();
            let missing = stages.iter().find(|stage| !left.any(|row| row.0 == **stage));
            missing.map(|stage| ("stages", json!(stage), stage_names(played)))
        }
        Check::NoStage(stage) => is(!played.audit.iter().any(|it| it.0 == *stage), "no stage", json!(stage), stage_names(played)),
        Check::Equals { path, value } => {
            let found = resolve_path(path, played);
            is(found.iter().any(|it| is_equal(it, value)), "path", json!({path: value}), path_json(path, &found))
        }
        Check::Absent(path) => {
            let found = resolve_path(path, played);
            is(found.is_empty(), "path is absent", json!({path: "absent"}), path_json(path, &found))
        }
        Check::Contains { path, text } => {
            let found = resolve_path(path, played);
            is(found.iter().any(|it| contains_text(it, text)), "path contains", json!({path: text}), path_json(path, &found))
        }
        Check::Lacks { path, text } => {
            let found = resolve_path(path, played);
            let right = found.iter().any(|it| !it.is_null()) && !found.iter().any(|it| contains_text(it, text));
            is(right, "path lacks", json!({path: text}), path_json(path, &found))
        }
        Check::Verbose(text) => is(texts().contains(&json!(text)), "progress", json!(text), json!(texts())),
        Check::NoVerbose(text) => is(!texts().contains(&json!(text)), "no progress", json!(text), json!(texts())),
        Check::Calls(expected) => is(calls() == json!(expected), "calls", json!(expected), calls()),
    }
}

fn stage_names(played: &PlayedTurn) -> Value {
    json!(played.audit.iter().map(|it| it.0.as_str()).filter(|it| !it.starts_with("STEP_")).collect::<Vec<_>>())
}

fn path_json(path: &str, found: &[Value]) -> Value {
    match found {
        [] => json!(format!("nothing is at {path}")),
        [one] => json!({path: one}),
        several => json!({path: several}),
    }
}

/// Returns the values at a path, none if nothing is there; an audit stage may occur more than once.
fn resolve_path(path: &str, played: &PlayedTurn) -> Vec<Value> {
    let (root, rest) = path.split_once('.').unwrap_or((path, ""));
    let found = match root {
        "params" => get_path(&played.conversation["input_params_json"], rest),
        "row" => get_path(&played.conversation, rest),
        "session" => get_path(&played.session, rest),
        "requests" => get_path(&json!(played.requests), rest),
        "calls" => get_path(&json!(played.llm), rest),
        "audit" if rest.is_empty() => Some(json!(played.audit)),
        "audit" => {
            // Stage names may contain dots.
            let below = |stage: &str| rest.strip_prefix(stage).filter(|rest| rest.is_empty() || rest.starts_with('.'));
            return played.audit.iter().filter_map(|row| get_path(&row.1, below(&row.0)?)).collect();
        }
        _ => get_path(&played.json, path),
    };
    found.into_iter().collect()
}

fn get_path(value: &Value, path: &str) -> Option<Value> {
    let mut names = path.split('.').filter(|it| !it.is_empty());
    let found = names.try_fold(value, |value, name| name.parse::<usize>().ok().and_then(|at| value.get(at)).or_else(|| value.get(name)));
    found.cloned()
}

/// Compares deeply, with numbers compared by value.
fn is_equal(ours: &Value, expected: &Value) -> bool {
    match (ours, expected) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_equal(a, b))),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => ours == expected,
    }
}

fn contains_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.contains(text),
        Value::Null => false,
        other => other.to_string().contains(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convengine_core::pack::{Pack, ScriptedCall};

    fn played() -> PlayedTurn {
        let rows = [("USER_INPUT", "a"), ("SET_STATE", "b"), ("SET_STATE", "c"), ("ASSISTANT_OUTPUT", "d")];
        let asked = ["policy", "dialogue_act", "policy"];
        PlayedTurn {
            json: json!({"intent": "LOAN", "state": "IDLE", "payload": {"value": "{\"a\": 1.0}"}, "context": {"x": [{"y": 2}]}, "errorCode": null}),
            audit: rows.iter().map(|row| (row.0.to_owned(), json!({"to": row.1}))).collect(),
            conversation: json!({"status": "RUNNING", "input_params_json": {"tool_status": "SUCCESS"}}),
            verbose: vec![json!({"text": "Working"})],
            llm: vec![json!({"prompt": "what the user said"})],
            scripted_calls: asked.iter().map(|purpose| ScriptedCall::Llm((*purpose).to_owned())).collect(),
            ..PlayedTurn::default()
        }
    }

    /// Returns the failed fields of a turn with these check lines.
    fn fields(lines: &str) -> Vec<String> {
        let config = |_: &str| Ok(r#"{"name": "n"}"#.to_owned());
        let talk = Pack::parse_talk(&format!("config c.json\n> hi\n{lines}\n"), config).expect("a talk");
        failed_checks(&talk.turns[0], &played()).into_iter().map(|it| it.field).collect()
    }

    #[test]
    fn passing_checks_yield_no_difference() {
        let lines = [
            "< {\"a\": 1}",
            "<~ a\": 1",
            "= LOAN / IDLE",
            "~ USER_INPUT, SET_STATE, ASSISTANT_OUTPUT",
            "~! POLICY_BLOCK",
            "? context.x.0.y = 2.0",
            "?! context.none",
            "?! audit.GONE",
            "? errorCode = null",
            "? params.tool_status = \"SUCCESS\"",
            "? row.status = \"RUNNING\"",
            "? audit.SET_STATE.to = \"c\"",
            "?! audit.SET_STATE.to ~ d",
            "? calls.0.prompt ~ user",
            "% Working",
            "%! Resting",
            "$ policy, dialogue_act, policy",
        ];
        assert_eq!(fields(&lines.join("\n")), [""; 0]);
    }

    #[test]
    fn failed_checks_name_their_line() {
        for (line, what) in [
            ("< {\"a\": 2}", "reply"),
            ("< other", "reply"),
            ("<~ b", "reply contains"),
            ("= LOAN / OTHER", "place"),
            ("~ ASSISTANT_OUTPUT, USER_INPUT", "stages"),
            ("~! SET_STATE", "no stage"),
            ("? context.x.0.y = 3", "path"),
            ("? audit.GONE = null", "path"),
            ("? context.none = null", "path"),
            ("?! errorCode", "path is absent"),
            ("?! audit.SET_STATE.to", "path is absent"),
            ("? context.x.1 ~ y", "path contains"),
            ("?! audit.SET_STATE.to ~ c", "path lacks"),
            ("?! context.gone ~ c", "path lacks"),
            ("% Resting", "progress"),
            ("%! Working", "no progress"),
            ("$ policy, dialogue_act", "calls"),
            ("! TIMEOUT", "error"),
        ] {
            assert_eq!(fields(line), [format!("line 3 {what}")], "{line}");
        }
    }

    #[test]
    fn all_scripted_answers_are_requested_in_order() {
        let talk = |purposes: &[&str]| purposes.iter().map(|purpose| format!("  llm {purpose} no\n")).collect::<String>() + "<~ a";
        for right in [vec!["policy", "dialogue_act", "policy"], vec!["dialogue_act"], vec!["policy", "policy"]] {
            assert_eq!(fields(&talk(&right)), [""; 0], "{right:?}");
        }
        assert_eq!(fields(&talk(&["dialogue_act", "policy", "policy"])), ["line 3 answer"]);
        assert_eq!(fields(&talk(&["policy", "dialogue_act", "dialogue_act"])), ["line 5 answer"]);
        assert_eq!(fields(&talk(&["policy", "response_text"])), ["line 4 answer"]);
    }
}

//! An answer as plain text: what is said, what can be pressed, and how the turn ended if that is unusual.

use serde_json::Value;

/// Returns the lines of an answer; at least one.
pub(super) fn lines(answer: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match answer.get("messages").and_then(Value::as_array) {
        Some(messages) => messages.iter().for_each(|message| add_message(message, &mut lines)),
        None if answer["errorCode"].is_null() => add_text(text(&answer["payload"], "value"), &mut lines),
        None => {}
    }
    lines.extend(error_line(answer));
    lines.extend(approval_line(answer));
    lines.extend(status_line(answer));
    if lines.is_empty() {
        lines.push("(no reply)".to_owned());
    }
    lines
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn add_text(text: &str, lines: &mut Vec<String>) {
    lines.extend(text.lines().map(str::to_owned));
}

/// Adds the text of a message, then what its blocks offer beyond their texts.
fn add_message(message: &Value, lines: &mut Vec<String>) {
    add_text(text(message, "text"), lines);
    for block in items(message, "blocks") {
        lines.extend(items(block, "buttons").map(button_line));
        lines.extend(items(block, "items").flat_map(|card| items(card, "buttons")).map(button_line));
        match text(block, "kind") {
            // Without a description the text is the address.
            "media" if !text(block, "alt").is_empty() => lines.push(format!("  [{}] {}", text(block, "media"), text(block, "url"))),
            "custom" => lines.push(format!("  [{}] {}", text(block, "schema"), block["payload"])),
            _ => {}
        }
    }
}

fn button_line(button: &Value) -> String {
    match text(button, "url") {
        "" => format!("  [{}] /press {}", text(button, "label"), text(button, "id")),
        url => format!("  [{}] {url}", text(button, "label")),
    }
}

/// The error of a failed turn: of tables, of a run, or the reason for which a document has stopped.
fn error_line(answer: &Value) -> Option<String> {
    if let Some(code) = answer["errorCode"].as_str() {
        return Some(format!("error {code}: {}", text(answer, "message")));
    }
    let of_run = [answer.pointer("/error"), answer.pointer("/run/error")].into_iter().flatten().find(|it| it.is_object());
    if let Some(error) = of_run {
        return Some(format!("error {}: {}", text(error, "code"), text(error, "message")));
    }
    let reason = answer.pointer("/debug/stop_reason").and_then(Value::as_str)?;
    Some(format!("error {reason}: the turn was stopped"))
}

fn approval_line(answer: &Value) -> Option<String> {
    let call = answer.pointer("/awaiting/call").filter(|it| it.is_object())?;
    let id = text(call, "call_id");
    Some(format!("(the call of '{}' needs an approval: /approve {id} or /reject {id})", text(call, "tool")))
}

/// The status of a run, or of a session that does not wait for a message.
fn status_line(answer: &Value) -> Option<String> {
    let status = text(answer, "status").replace('_', " ");
    match status.as_str() {
        "" => None,
        _ if answer.get("run_id").is_some() => Some(format!("(the run is {status})")),
        "awaiting input" => None,
        _ => Some(format!("(the session is {status})")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(text: &str, blocks: &Value) -> Value {
        json!({"messages": [{"text": text, "blocks": blocks}], "status": "awaiting_input", "errorCode": null})
    }

    #[test]
    fn what_is_offered_is_below_the_text() {
        let button = |id: &str, label: &str| json!({"id": id, "label": label});
        let blocks = json!([
            {"kind": "text", "text": "Hello."},
            {"kind": "buttons", "text": "Which?", "buttons": [button("a", "One"), {"id": "b", "label": "Site", "url": "https://shop.example"}]},
            {"kind": "carousel", "items": [{"title": "Red", "buttons": [button("red", "Take it")]}]},
            {"kind": "media", "media": "image", "url": "https://shop.example/a.png", "alt": "A map"},
            {"kind": "custom", "schema": "rating", "payload": {"max": 5}},
        ]);
        let expected = [
            "Hello.",
            "Which?",
            "  [One] /press a",
            "  [Site] https://shop.example",
            "  [Take it] /press red",
            "  [image] https://shop.example/a.png",
            "  [rating] {\"max\":5}",
        ];
        assert_eq!(lines(&message("Hello.\nWhich?", &blocks)), expected);
    }

    #[test]
    fn each_end_of_a_turn_is_said() {
        let approval = json!({"messages": [], "status": "awaiting_input", "awaiting": {"call": {"call_id": "b1", "tool": "block"}}});
        for (answer, expected) in [
            (json!({"payload": {"type": "TEXT", "value": "Ask me.\nNow."}, "errorCode": null}), vec!["Ask me.", "Now."]),
            (json!({"payload": {"value": "{}"}, "errorCode": "LLM_CALL_FAILED", "message": "no"}), vec!["error LLM_CALL_FAILED: no"]),
            (message("", &json!([])), vec!["(no reply)"]),
            (json!({"messages": [], "status": "completed"}), vec!["(the session is completed)"]),
            (
                json!({"messages": [], "status": "failed", "debug": {"stop_reason": "root_missing"}}),
                vec!["error root_missing: the turn was stopped", "(the session is failed)"],
            ),
            (json!({"run_id": "r", "messages": [], "status": "awaiting_human", "run": {}}), vec!["(the run is awaiting human)"]),
            (
                json!({"run_id": "r", "messages": [], "status": "failed", "run": {"error": {"code": "step", "message": "no"}}}),
                vec!["error step: no", "(the run is failed)"],
            ),
            (approval, vec!["(the call of 'block' needs an approval: /approve b1 or /reject b1)"]),
        ] {
            assert_eq!(lines(&answer), expected, "{answer}");
        }
    }
}

//! What of the events of a conversation reaches a caller that may only converse: which stages a turn passes and what is said, but not what
//! models, tools and rows have said to the engine. (docs/decisions/0057-what-public-clients-see.md)

use axum::body::Bytes;
use serde_json::Value;

/// Members of a payload that are about the conversation and not about how it is carried on.
const PUBLIC_MEMBERS: [&str; 13] = [
    "intent",
    "state",
    "finalIntent",
    "finalState",
    "output",
    "responseType",
    "text",
    "userText",
    "verbose",
    "conversationId",
    "success",
    "errorCode",
    "recoverable",
];

/// Members of the metadata of progress that say how to show it.
const PUBLIC_METADATA: [&str; 6] = ["conversationId", "stepName", "determinant", "severity", "theme", "icon"];

/// Returns rendered events as a caller gets them that may only converse.
pub(super) fn hide_internals(events: Bytes) -> Bytes {
    let Ok(wire) = std::str::from_utf8(&events) else { return events };
    let mut shown = String::with_capacity(wire.len());
    for line in wire.split_inclusive('\n') {
        match line.strip_prefix("data:").and_then(|data| reduce(data.trim_end())) {
            Some(data) => shown.push_str(&format!("data:{data}\n")),
            None => shown.push_str(line),
        }
    }
    Bytes::from(shown)
}

/// The envelope of an audit or progress event without what is internal; `None` for all other data.
fn reduce(data: &str) -> Option<Value> {
    let mut envelope: Value = serde_json::from_str(data).ok()?;
    if !["AUDIT", "VERBOSE"].contains(&envelope.get("eventType")?.as_str()?) {
        return None;
    }
    if let Some(payload) = envelope.get_mut("payload").and_then(Value::as_object_mut) {
        payload.retain(|name, _| PUBLIC_MEMBERS.contains(&name.as_str()));
        payload.get_mut("verbose").into_iter().for_each(reduce_metadata);
    }
    envelope.get_mut("verbose").into_iter().for_each(reduce_metadata);
    Some(envelope)
}

/// Progress texts are meant for users; the facts that they were made of are not.
fn reduce_metadata(verbose: &mut Value) {
    if let Some(metadata) = verbose.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| PUBLIC_METADATA.contains(&name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::hide_internals;
    use axum::body::Bytes;
    use serde_json::{Value, json};

    fn shown(event: &Value) -> Value {
        let wire = hide_internals(Bytes::from(format!("id:t:1\nevent:X\ndata:{event}\n\n")));
        let text = String::from_utf8(wire.to_vec()).expect("text");
        assert!(text.starts_with("id:t:1\nevent:X\ndata:") && text.ends_with("\n\n"), "{text}");
        serde_json::from_str(text.lines().find_map(|it| it.strip_prefix("data:")).expect("data")).expect("JSON")
    }

    #[test]
    fn tool_rows_and_prompts_are_not_shown() {
        let event =
            json!({"eventType": "AUDIT", "stage": "MCP_TOOL_RESULT", "payload": {"intent": "I", "rows": "[1]", "context": {"mcp": {}}}});
        assert_eq!(shown(&event), json!({"eventType": "AUDIT", "stage": "MCP_TOOL_RESULT", "payload": {"intent": "I"}}));
        let verbose = json!({"text": "Looking …", "metadata": {"error": "no row", "icon": "spark"}});
        let event = json!({"eventType": "VERBOSE", "payload": {"verbose": verbose}, "verbose": verbose});
        let text = json!({"text": "Looking …", "metadata": {"icon": "spark"}});
        assert_eq!(shown(&event), json!({"eventType": "VERBOSE", "payload": {"verbose": text}, "verbose": text}));
    }

    #[test]
    fn other_events_stay() {
        for event in [json!({"eventType": "TOKEN", "text": "Hel"}), json!({"conversationId": "c", "transport": "SSE"})] {
            assert_eq!(shown(&event), event);
        }
    }
}

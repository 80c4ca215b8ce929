//! Turns of flow sessions in packs, as requests of the simulator routes. (docs/spec/flows-http.md#4)

use serde_json::Value;

use super::{Message, conversation_id_for_label};
use crate::turn::{Map, Millis};

/// The path prefix of the sessions of a draft.
const SESSIONS_PREFIX: &str = "/v1/runtime/assistants/";

/// The path prefixes of the sessions of a workflow graph: to start one, and of one that runs.
const WORKFLOWS_PREFIX: &str = "/v1/runtime/workflows/";

/// The path prefix of AI agents and of their sessions.
const AGENTS_PREFIX: &str = "/v1/runtime/ai-agents/";

/// Parses a turn of a session; `None` for other paths and for events without a type.
pub(super) fn parse_message(path: &str, body: &Value, label: Option<&str>, at: Millis, seed: u64) -> Option<Message> {
    let rest = match path.strip_prefix(WORKFLOWS_PREFIX).or_else(|| path.strip_prefix(AGENTS_PREFIX)) {
        // The id of a session is enough.
        Some(rest) if rest.starts_with("sessions/") => rest,
        Some(rest) => rest.split_once('/')?.1,
        None => path.strip_prefix(SESSIONS_PREFIX)?.split_once('/')?.1,
    };
    let event = match rest.split('/').collect::<Vec<_>>().as_slice() {
        ["sessions"] => event(body, "session.start"),
        ["turn"] => event(body, "user.message"),
        ["sessions", _, "turns"] => body.get("type")?.as_str().map(|_| body.clone())?,
        ["sessions", _, "handoff", "status"] => event(body, "handoff.status"),
        ["sessions", _, "handoff", "messages"] => event(body, "handoff.message"),
        _ => return None,
    };
    Some(Message {
        conversation_id: Some(conversation_id_for_label(label.unwrap_or("main"))),
        message: None,
        reset: false,
        input_params: Map::new(),
        at,
        seed,
        flow: Some(event),
    })
}

/// The event of a body whose path says its type.
fn event(body: &Value, kind: &str) -> Value {
    let mut event = body.as_object().cloned().unwrap_or_default();
    event.insert("type".to_owned(), Value::from(kind));
    Value::Object(event)
}

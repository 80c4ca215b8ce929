//! Turns of flow sessions in packs: the paths of the simulator's routes. (`convoship-http.md` 4)

use serde_json::Value;

use super::{Message, conversation_of};
use crate::turn::{Map, Millis};

/// Where sessions of an assistant's draft begin.
const SESSIONS: &str = "/v1/runtime/assistants/";

/// Reads a turn of a session; nothing when the path or the event is another one.
pub(super) fn message(path: &str, body: &Value, label: Option<&str>, at: Millis, seed: u64) -> Option<Message> {
    let (_, rest) = path.strip_prefix(SESSIONS)?.split_once('/')?;
    let event = match rest.split('/').collect::<Vec<_>>().as_slice() {
        ["sessions"] => start(body),
        ["sessions", _, "turns"] => body.get("type")?.as_str().map(|_| body.clone())?,
        _ => return None,
    };
    Some(Message {
        conversation_id: Some(conversation_of(label.unwrap_or("main"))),
        message: None,
        reset: false,
        input_params: Map::new(),
        at,
        seed,
        flow: Some(event),
    })
}

fn start(body: &Value) -> Value {
    let mut event = body.as_object().cloned().unwrap_or_default();
    event.insert("type".to_owned(), Value::from("session.start"));
    Value::Object(event)
}

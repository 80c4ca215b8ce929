//! Turns of flow sessions in packs, as requests of the simulator routes. (docs/spec/flows-http.md#4)

use convengine_turn::{Map, Millis};
use serde_json::{Value, json};

use super::{Message, conversation_id_for_label};

/// The path prefix of the sessions of a draft.
const SESSIONS_PREFIX: &str = "/v1/runtime/assistants/";

/// The path prefixes of the sessions of a workflow graph: to start one, and of one that runs.
const WORKFLOWS_PREFIX: &str = "/v1/runtime/workflows/";

/// The path prefix of AI agents and of their sessions.
const AGENTS_PREFIX: &str = "/v1/runtime/ai-agents/";

/// The path prefixes of the runs of a chain, and of the webhooks that it awaits.
const CHAINS_PREFIX: &str = "/v1/workflow-chains/";
const INGRESS_PREFIX: &str = "/v1/public/chains/";

/// Parses a turn of a session or of a run; `None` for other paths and for events without a type.
pub(super) fn parse_message(path: &str, body: &Value, label: Option<&str>, at: Millis, seed: u64) -> Option<Message> {
    let message = |event: Value| Message {
        conversation_id: Some(conversation_id_for_label(label.unwrap_or("main"))),
        message: None,
        reset: false,
        input_params: Map::new(),
        at,
        seed,
        flow: Some(event),
    };
    if path.starts_with(CHAINS_PREFIX) || path.starts_with(INGRESS_PREFIX) {
        return parse_run_event(path, body).map(message);
    }
    let rest = match path.strip_prefix(WORKFLOWS_PREFIX).or_else(|| path.strip_prefix(AGENTS_PREFIX)) {
        // The id of a session is enough.
        Some(rest) if rest.starts_with("sessions/") => rest,
        Some(rest) => rest.split_once('/')?.1,
        None => path.strip_prefix(SESSIONS_PREFIX)?.split_once('/')?.1,
    };
    let event = match rest.split('/').collect::<Vec<_>>().as_slice() {
        ["sessions"] => event(body, "session.start"),
        // The conversation is that of the label, as the host's is that of the body.
        ["turn"] => without_conversation(event(body, "user.message")),
        ["sessions", _, "turns"] => body.get("type")?.as_str().map(|_| body.clone())?,
        ["sessions", _, "handoff", "status"] => event(body, "handoff.status"),
        ["sessions", _, "handoff", "messages"] => event(body, "handoff.message"),
        _ => return None,
    };
    Some(message(event))
}

/// The event of a run. A path below `timers` fires a timer, which no route of the server does.
fn parse_run_event(path: &str, body: &Value) -> Option<Value> {
    let with_type = |kind: &str| event(body, kind);
    if let Some(rest) = path.strip_prefix(INGRESS_PREFIX) {
        let (_, step) = rest.split_once("/ingress")?;
        let step = step.split('?').next().unwrap_or_default().trim_start_matches('/');
        return Some(match step {
            "" => json!({"type": "chain.start", "trigger": {"kind": "webhook", "body": body}}),
            step => json!({"type": "run.ingress", "step": step, "body": body}),
        });
    }
    match path.strip_prefix(CHAINS_PREFIX)?.split('/').collect::<Vec<_>>().as_slice() {
        [_, "run"] => Some(json!({"type": "chain.start", "trigger": {"kind": "manual", "body": body.get("input")}})),
        [_, "runs", _, "resume"] => Some(with_type("run.resume")),
        [_, "runs", _, "cancel"] => Some(with_type("run.cancel")),
        [_, "runs", _, "retry"] => Some(with_type("run.retry")),
        [_, "runs", _, "token"] => Some(with_type("run.token")),
        [_, "runs", _, "timers", timer] => Some(json!({"type": "timer.fired", "timer_id": timer})),
        _ => None,
    }
}

fn without_conversation(mut event: Value) -> Value {
    if let Some(members) = event.as_object_mut() {
        members.shift_remove("conversation_id");
    }
    event
}

/// The event of a body whose path says its type.
fn event(body: &Value, kind: &str) -> Value {
    let mut event = body.as_object().cloned().unwrap_or_default();
    event.insert("type".to_owned(), Value::from(kind));
    Value::Object(event)
}

//! Sessions of flow documents over HTTP: what a talk names as `${SESSION}`, and what its checks read.

use std::collections::BTreeSet;

use convengine_core::pack::{Pack, PackRequest, conversation_of};
use serde_json::{Value, json};

/// Stands in paths for the session of the turn's conversation.
const SESSION: &str = "${SESSION}";

/// Where sessions of an assistant's draft begin.
const SESSIONS: &str = "/v1/runtime/assistants/";

/// The session of a label: the same as in the core, so that both answer alike.
pub fn session(label: Option<&str>) -> String {
    conversation_of(label.unwrap_or("main"))
}

/// The request as it is sent, when it is of a session.
pub fn request(request: &PackRequest, label: Option<&str>) -> Option<PackRequest> {
    let (_, rest) = request.path.strip_prefix(SESSIONS)?.split_once('/')?;
    let mut sent = request.clone();
    sent.path = sent.path.replace(SESSION, &session(label));
    if rest == "sessions"
        && let Some(body) = sent.body.as_object_mut()
    {
        body.insert("session_id".to_owned(), json!(session(label)));
    }
    Some(sent)
}

/// Adds to an answer what the checks of every talk read, from the session's state.
pub(super) fn complete(answer: &mut Value, state: &Value) {
    let texts: Vec<&str> = answer["messages"].as_array().into_iter().flatten().filter_map(|it| it["text"].as_str()).collect();
    let value = texts.join("\n");
    let top = state["stack"].as_array().and_then(|it| it.last());
    let place = top.map(|it| format!("{}/{}", it["graph"].as_str().unwrap_or_default(), it["node"].as_str().unwrap_or_default()));
    answer["intent"] = json!(state["vars"]["_active_intent_id"].as_str().unwrap_or_default());
    answer["state"] = json!(place.unwrap_or_default());
    answer["payload"] = json!({"type": "TEXT", "value": value});
    answer["vars"] = state["vars"].clone();
    answer["errorCode"] = Value::Null;
}

/// The names of the secrets that the documents of a pack refer to.
pub fn secrets(pack: &Pack) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    pack.documents.iter().for_each(|it| names(it, &mut found));
    found
}

fn names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for mark in ["secret.", "secret:"] {
                let name = |it: &str| it.chars().take_while(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || *it == '_').collect();
                let named = text.split(mark).skip(1).map(name);
                found.extend(named.filter(|it: &String| !it.is_empty()));
            }
        }
        Value::Array(items) => items.iter().for_each(|it| names(it, found)),
        Value::Object(members) => {
            let texts = members.get("secrets").and_then(Value::as_array).into_iter().flatten().chain(members.get("signing_secret"));
            found.extend(texts.filter_map(Value::as_str).map(str::to_owned));
            members.values().for_each(|it| names(it, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

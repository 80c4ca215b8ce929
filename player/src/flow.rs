//! Flow sessions over HTTP: replaces `${SESSION}` in requests and adds the members that talk checks read.

use std::collections::BTreeSet;

use convengine_content::references::find_references;
use convengine_core::config::flow::{chain_references, is_same_name};
use convengine_core::pack::{Pack, PackRequest, conversation_id_for_label};
use convengine_storage::assistant::{DocumentKind, ProgramKey};
use serde_json::{Value, json};

/// The placeholder for the session id in request paths.
const SESSION_PLACEHOLDER: &str = "${SESSION}";

/// The path prefixes of simulator sessions.
const SIMULATOR_PATHS: [&str; 3] = ["/v1/runtime/assistants/", "/v1/runtime/workflows/", "/v1/runtime/ai-agents/"];

/// Returns the session id of a label, the same as in the core.
pub fn session_id(label: Option<&str>) -> String {
    conversation_id_for_label(label.unwrap_or("main"))
}

/// Returns the request to send, if it addresses a session.
pub fn session_request(request: &PackRequest, label: Option<&str>) -> Option<PackRequest> {
    let (_, rest) = SIMULATOR_PATHS.iter().find_map(|it| request.path.strip_prefix(it))?.split_once('/')?;
    let mut sent = request.clone();
    sent.path = sent.path.replace(SESSION_PLACEHOLDER, &session_id(label));
    if rest == "sessions"
        && let Some(body) = sent.body.as_object_mut()
    {
        body.insert("session_id".to_owned(), json!(session_id(label)));
    }
    Some(sent)
}

/// Adds the members that talk checks read to a response, from the session state.
pub(super) fn add_talk_members(answer: &mut Value, state: &Value) {
    let texts: Vec<&str> = answer["messages"].as_array().into_iter().flatten().filter_map(|it| it["text"].as_str()).collect();
    let value = texts.join("\n");
    let top = state["stack"].as_array().and_then(|it| it.last());
    let place = top.map(|frame| format!("{}/{}", frame["graph"].as_str().unwrap_or_default(), frame["node"].as_str().unwrap_or_default()));
    answer["intent"] = json!(state["vars"]["_active_intent_id"].as_str().unwrap_or_default());
    answer["state"] = json!(place.unwrap_or_default());
    answer["payload"] = json!({"type": "TEXT", "value": value});
    answer["vars"] = state["vars"].clone();
    answer["errorCode"] = Value::Null;
}

/// Returns the requests that publish what the first document of a pack runs, each after those that it runs itself, and a chain itself.
pub fn publish_requests(pack: &Pack) -> Vec<PackRequest> {
    let root = pack.documents.first().map(ProgramKey::of_document);
    let Some(root) = root.filter(|key| matches!(key.kind(), DocumentKind::Workflow | DocumentKind::Chain)) else { return Vec::new() };
    let mut ordered = Vec::new();
    add_references(pack, &root, &mut vec![root.clone()], &mut ordered);
    // A run needs a published chain; a session of a workflow plays the draft.
    ordered.extend(Some(root).filter(|key| key.kind() == DocumentKind::Chain));
    ordered.iter().map(publish_request).collect()
}

/// Adds the documents that a document runs. `path` has those around it.
fn add_references(pack: &Pack, key: &ProgramKey, path: &mut Vec<ProgramKey>, ordered: &mut Vec<ProgramKey>) {
    let Some(document) = pack.documents.iter().find(|document| ProgramKey::of_document(document) == *key) else { return };
    for key in referenced_keys(pack, key.kind(), document) {
        if !ordered.contains(&key) && !path.contains(&key) {
            path.push(key.clone());
            add_references(pack, &key, path, ordered);
            path.pop();
            ordered.push(key);
        }
    }
}

/// The documents of the pack that a document names. The steps of a chain name them by id or by name.
fn referenced_keys(pack: &Pack, kind: DocumentKind, document: &Value) -> Vec<ProgramKey> {
    let is_named = |document: &Value, name: &str| document["name"].as_str().is_some_and(|own| is_same_name(own, name));
    let find = |kind: DocumentKind, name: &str| {
        let of_kind = || pack.documents.iter().filter(|document| ProgramKey::of_document(document).kind() == kind);
        of_kind()
            .find(|document| document["id"] == name)
            .or_else(|| of_kind().find(|document| is_named(document, name)))
            .map(ProgramKey::of_document)
    };
    match kind {
        DocumentKind::Chain => chain_references(document).iter().filter_map(|(kind, name)| find((*kind).into(), name)).collect(),
        DocumentKind::Assistant | DocumentKind::Workflow | DocumentKind::Agent => {
            find_references(kind, document).into_iter().filter_map(|reference| find(reference.key.kind(), reference.key.id())).collect()
        }
    }
}

fn publish_request(key: &ProgramKey) -> PackRequest {
    let path = match key.kind() {
        DocumentKind::Assistant => "agents",
        DocumentKind::Workflow => "workflows",
        DocumentKind::Chain => "workflow-chains",
        DocumentKind::Agent => "ai-agents",
    };
    PackRequest { method: "POST".to_owned(), path: format!("/v1/{path}/{}/publish", key.id()), body: json!({}), content_type: None }
}

/// Returns the names of the secrets that the documents of a pack reference.
pub fn secret_names(pack: &Pack) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    pack.documents.iter().chain(&pack.workspace_tools).for_each(|it| collect_secret_names(it, &mut found));
    found
}

fn collect_secret_names(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            for mark in ["secret.", "secret:"] {
                let name = |rest: &str| {
                    rest.chars().take_while(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || *letter == '_').collect()
                };
                let named = text.split(mark).skip(1).map(name);
                found.extend(named.filter(|it: &String| !it.is_empty()));
            }
        }
        Value::Array(items) => items.iter().for_each(|it| collect_secret_names(it, found)),
        Value::Object(members) => {
            let texts = members.get("secrets").and_then(Value::as_array).into_iter().flatten();
            let texts = texts.chain(members.get("signing_secret")).chain(members.get("secret"));
            found.extend(texts.filter_map(Value::as_str).map(str::to_owned));
            members.values().for_each(|it| collect_secret_names(it, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

//! Parses `>` lines of flow talks: a user message, or an event (`/start`, `/press ID`, `/timer ID`, `/end`, `/approve ID`, `/reject ID`).

use serde_json::{Value, json};

use super::super::{PackError, PackRequest};
use super::line::{self, Line};

/// The document that a talk plays.
#[derive(Debug, Clone, Copy)]
pub(super) enum Document<'t> {
    /// An assistant, by its id.
    Assistant(&'t str),
    /// A workflow graph, by its id.
    Workflow(&'t str),
    /// An AI agent, by its id.
    Agent(&'t str),
}

impl Document<'_> {
    /// The paths that start a session and that send an event to one, with the placeholder `${SESSION}` for its id.
    fn paths(self) -> (String, String) {
        match self {
            Document::Assistant(id) => {
                let sessions = format!("/v1/runtime/assistants/{id}/sessions");
                (sessions.clone(), format!("{sessions}/${{SESSION}}/turns"))
            }
            Document::Workflow(id) => {
                (format!("/v1/runtime/workflows/{id}/sessions"), "/v1/runtime/workflows/sessions/${SESSION}/turns".to_owned())
            }
            Document::Agent(id) => {
                (format!("/v1/runtime/ai-agents/{id}/sessions"), "/v1/runtime/ai-agents/sessions/${SESSION}/turns".to_owned())
            }
        }
    }
}

/// Returns the request of an event in the conversation of a label.
pub(super) fn parse_event(line: &Line<'_>, document: Document<'_>, label: &str) -> Result<PackRequest, PackError> {
    let (word, rest) = line.split_word();
    let id = |what: &str| rest.required(what);
    let (sessions, turns) = document.paths();
    let body = match word.text {
        "/start" => {
            let body =
                if rest.text.is_empty() { json!({}) } else { line::parse_json(&rest, "write the data of the session as a JSON object")? };
            return Ok(post_request(sessions, body));
        }
        "/press" => json!({"type": "user.button", "button_id": id("the id of the button")?}),
        "/timer" => json!({"type": "timer.fired", "timer_id": id("the id of the timer")?}),
        "/end" => json!({"type": "session.end"}),
        "/approve" | "/reject" => {
            json!({"type": "approval.decision", "call_id": id("the id of the call")?, "approved": word.text == "/approve"})
        }
        _ if line.text.starts_with('{') => line::parse_json(line, "a line that begins with { is an event as JSON")?,
        // A message to an AI agent needs no session.
        _ if let Document::Agent(id) = document => {
            let body = json!({"conversation_id": super::conversation_id_for_label(label), "text": line.text});
            return Ok(post_request(format!("/v1/runtime/ai-agents/{id}/turn"), body));
        }
        _ => json!({"type": "user.message", "text": line.text}),
    };
    Ok(post_request(turns, body))
}

fn post_request(path: String, body: Value) -> PackRequest {
    PackRequest { method: "POST".to_owned(), path, body, content_type: None }
}

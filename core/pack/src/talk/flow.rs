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
    /// A chain, by its slug.
    Chain(&'t str),
    /// An AI agent, by its id.
    Agent(&'t str),
}

impl<'t> Document<'t> {
    /// Creates the document of a line `program WORD ID`; `None` for other programs.
    pub(super) fn from_word(word: &str, id: &'t str) -> Option<Document<'t>> {
        match word {
            "flow" => Some(Document::Assistant(id)),
            "workflow" => Some(Document::Workflow(id)),
            "chain" => Some(Document::Chain(id)),
            "agent" => Some(Document::Agent(id)),
            _ => None,
        }
    }

    /// What the id is called where it is missing.
    pub(super) fn id_name(self) -> &'static str {
        match self {
            Document::Assistant(_) => "the id of the assistant",
            Document::Workflow(_) => "the id of the workflow graph",
            Document::Chain(_) => "the slug of the chain",
            Document::Agent(_) => "the id of the AI agent",
        }
    }

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
            Document::Chain(slug) => {
                (format!("/v1/workflow-chains/{slug}/run"), format!("/v1/workflow-chains/{slug}/runs/${{SESSION}}/resume"))
            }
            Document::Agent(id) => {
                (format!("/v1/runtime/ai-agents/{id}/sessions"), "/v1/runtime/ai-agents/sessions/${SESSION}/turns".to_owned())
            }
        }
    }
}

/// Returns the request of an event in the conversation of a label.
pub(super) fn parse_event(line: &Line<'_>, document: Document<'_>, label: &str) -> Result<PackRequest, PackError> {
    if let Document::Chain(slug) = document {
        return parse_run_event(line, slug);
    }
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

/// Returns the request of an event of a run: `/run JSON`, `/ingress [STEP] JSON`, `/resume JSON`, `/cancel`, `/retry`, `/timer ID`, or a
/// text for the assistant that the run talks to.
fn parse_run_event(line: &Line<'_>, slug: &str) -> Result<PackRequest, PackError> {
    let (word, rest) = line.split_word();
    let object = |line: &Line<'_>| {
        if line.text.is_empty() { Ok(json!({})) } else { line::parse_json(line, "write the data of the event as a JSON object") }
    };
    let run = |action: &str| format!("/v1/workflow-chains/{slug}/runs/${{SESSION}}/{action}");
    Ok(match word.text {
        "/run" => {
            let input = if rest.text.is_empty() { Value::Null } else { object(&rest)? };
            post_request(format!("/v1/workflow-chains/{slug}/run"), json!({"input": input}))
        }
        "/ingress" if rest.text.starts_with('{') => post_request(format!("/v1/public/chains/{slug}/ingress"), object(&rest)?),
        "/ingress" => {
            let (step, body) = rest.split_word();
            let step = step.required("the id of the step, or the body as a JSON object")?;
            post_request(format!("/v1/public/chains/{slug}/ingress/{step}?run=${{SESSION}}"), object(&body)?)
        }
        "/resume" => post_request(run("resume"), object(&rest)?),
        "/cancel" | "/retry" | "/token" => post_request(run(word.text.trim_start_matches('/')), object(&rest)?),
        "/timer" => post_request(run(&format!("timers/{}", rest.required("the id of the timer")?)), json!({})),
        _ => post_request(run("resume"), json!({"text": line.text})),
    })
}

fn post_request(path: String, body: Value) -> PackRequest {
    PackRequest { method: "POST".to_owned(), path, body, content_type: None }
}

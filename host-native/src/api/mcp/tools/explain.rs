//! `explain_turn`: what decided a stored turn.

use std::sync::Arc;

use convengine_content::Content;
use convengine_core::config::Config;
use convengine_core::turn::{Map, Notice, NoticeBody, Turn};
use convengine_storage::assistant::session;
use convengine_storage::run_blocking;
use convengine_storage::turn::{self, StoredTurn};
use convengine_turns::audit::derive::ConfigCache;
use serde_json::{Value, json};

use super::developer::Description;
use super::{Answer, ToolResult, arguments_schema, database_text, object_schema, refusal_text};
use crate::api::assistant::runtime::{inspect, load_session};
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::page;

/// Describes the tool.
pub fn describe() -> Description {
    let input = arguments_schema(
        json!({
            "conversation_id": {"type": "string", "description": "A stored conversation or session"},
            "turn": {"type": "integer", "minimum": 1, "description": "The number of the turn, from 1; the start of a session is a turn, too"},
            "cursor": {"type": "string", "description": "The next_cursor of the page before"},
        }),
        &["conversation_id", "turn"],
    );
    let output = object_schema(
        json!({
            "turn": {"type": "integer"},
            "input": {"description": "What was sent"},
            "explanations": {"type": "array", "items": {"type": "object"}, "description": "Decisions of the tables or the flow, with all candidates that were considered and the reason of each"},
            "events": {"type": "array", "items": {"type": "object"}, "description": "The audit of the turn, or the trace of a session's turn"},
            "next_cursor": {"type": "string"},
        }),
        &["turn", "explanations", "events"],
    );
    let about = "Explains a stored turn: each decision with the candidates, which one won and what the others lacked, and the audit of all \
        steps. Replays the turn from its journal, without calling anyone.";
    ("Explain a turn", about, input, output)
}

/// Runs the tool.
///
/// # Errors
/// A message that says what to send, or the reason that the turn cannot be replayed.
pub async fn run(content: &Arc<Content>, arguments: Option<Map>) -> ToolResult {
    let arguments = Arguments::read(arguments, &["conversation_id", "turn", "cursor"])?;
    let cursor = arguments.text("cursor")?;
    let id = arguments.id("conversation_id")?.ok_or("conversation_id is missing; send the id of a stored conversation or session")?;
    let number = arguments.required_number("turn")?;
    let is_session = session::find_program(&content.readers, &id).await.map_err(|it| database_text(&it))?.is_some();
    let explained =
        if is_session { explain_session(content, &id, number).await } else { explain_conversation(content, &id, number).await }?;
    let (events, next) = page(explained.events, cursor)?;
    // The explanations belong to the first page.
    let explanations = if cursor.is_none() { page(explained.explanations, None)?.0 } else { Vec::new() };
    let mut done = json!({"turn": number, "input": explained.input, "explanations": explanations, "events": events});
    if let Some(next) = next {
        done["next_cursor"] = json!(next);
    }
    Ok(Answer::new(done))
}

struct ExplainedTurn {
    input: Value,
    explanations: Vec<Value>,
    events: Vec<Value>,
}

/// Renders the explanations and the trace of a session's turn, in which private values are masked.
async fn explain_session(content: &Content, id: &str, number: u32) -> Result<ExplainedTurn, String> {
    let (_, running) = load_session(content, id).await.map_err(|it| refusal_text(&it))?;
    let mut trace = inspect::render_trace(content, &running).await.map_err(|it| refusal_text(&it))?;
    let turns = trace["turns"].as_array_mut().into_iter().flatten();
    let found = turns.into_iter().find(|it| it["number"] == number).ok_or_else(|| unknown_turn(id, number))?;
    if let Some(reason) = found["reason"].as_str() {
        return Err(format!("turn {number} cannot be replayed: {reason}"));
    }
    let events = if let Value::Array(events) = found["events"].take() { events } else { Vec::new() };
    let explanations = inspect::explain_turn(content, &running, number).await.map_err(|it| refusal_text(&it))?;
    Ok(ExplainedTurn { input: found["event"].take(), explanations, events })
}

async fn explain_conversation(content: &Content, id: &str, number: u32) -> Result<ExplainedTurn, String> {
    let turns = turn::list_ended_after(&content.readers, id, number - 1, 1).await.map_err(|it| database_text(&it))?;
    let stored = turns.into_iter().find(|it| it.number == number).ok_or_else(|| unknown_turn(id, number))?;
    let mut configs = ConfigCache::with_config(&content.config_manager.active().config);
    let config = configs.load(&content.readers, &stored.config_hash).await.map_err(|it| database_text(&it))?;
    let config = config.ok_or_else(|| format!("configuration {} of turn {number} is no longer stored", stored.config_hash))?;
    run_blocking(move || replay_observed(&stored, config)).await.map_err(|it| database_text(&it))?
}

fn replay_observed(stored: &StoredTurn, config: Arc<Config>) -> Result<ExplainedTurn, String> {
    let fails = |reason: String| format!("turn {} cannot be replayed: {reason}", stored.number);
    let journal = turn::decompress(&stored.journal).map_err(|error| fails(error.to_string()))?;
    let (turn, slice) = Turn::restore_observed(journal, config).map_err(|error| fails(error.to_string()))?;
    let event = |it: &Notice| match &it.body {
        NoticeBody::Audit { stage, payload } => Some(json!({"seq": it.seq, "stage": stage, "payload": payload})),
        NoticeBody::Verbose(_) | NoticeBody::Message { .. } => None,
    };
    let input = &turn.journal().input.event;
    Ok(ExplainedTurn {
        input: json!({"text": input.text, "params": input.params}),
        explanations: turn.explanations().iter().map(|it| json!(it)).collect(),
        events: slice.notices.iter().filter_map(event).collect(),
    })
}

fn unknown_turn(id: &str, number: u32) -> String {
    format!("{id} has no stored turn {number}; check the id and the number")
}

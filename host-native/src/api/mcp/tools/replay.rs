//! `replay` and `compare`: a stored conversation, as it ran and on another configuration.

use std::sync::Arc;

use convengine_content::Content;
use convengine_content::config::import::ParsedPack;
use convengine_core::pack::Pack;
use convengine_core::turn::Map;
use convengine_storage::run_blocking;
use convengine_storage::turn;
use serde_json::{Value, json};

use super::developer::Description;
use super::{Answer, StopCheck, ToolResult, arguments_schema, database_text, failure_text, object_schema};
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::page;
use crate::ops::replay::{ComparedTurn, Recording};

/// Describes the tool `replay`.
pub fn describe() -> Description {
    let input = arguments_schema(
        json!({
            "conversation_id": {"type": "string", "description": "A conversation of the tables"},
            "session_id": {"type": "string", "description": "A session of an assistant, in place of a conversation"},
            "config": {"type": ["object", "string"], "description": "A pack, to replay the turns on its configuration"},
        }),
        &[],
    );
    let output = object_schema(
        json!({
            "equal": {"type": "boolean"},
            "turns": {"type": "array", "items": {"type": "string"}, "description": "A line for each turn that is equal"},
            "divergence": {"type": "array", "items": {"type": "string"}, "description": "The first difference; empty if there is none"},
        }),
        &["equal", "turns", "divergence"],
    );
    let about = "Replays a stored conversation or session from its journals, without calling anyone, and compares the results with what was \
        stored, or with those on the configuration of a pack. Ends at the first difference.";
    ("Replay a conversation", about, input, output)
}

/// Describes the tool `compare`.
pub fn describe_comparison() -> Description {
    let input = arguments_schema(
        json!({
            "conversation_id": {"type": "string", "description": "A stored conversation or session"},
            "config": {"type": ["object", "string"], "description": "The pack with the other configuration"},
            "cursor": {"type": "string", "description": "The next_cursor of the page before"},
        }),
        &["conversation_id", "config"],
    );
    let output = object_schema(
        json!({
            "equal": {"type": "boolean"},
            "turns": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "turn": {"type": "integer"},
                    "equal": {"type": "boolean"},
                    "differences": {"type": "array", "items": {"type": "string"}},
                },
            }},
            "next_cursor": {"type": "string"},
        }),
        &["equal", "turns"],
    );
    let about = "Compares what happened in each turn of a stored conversation with what would have happened on the configuration of a pack: \
        the same messages, and the same answers of models and services. Each turn begins where the stored one began.";
    ("Compare configurations", about, input, output)
}

/// Runs the tool `replay`.
///
/// # Errors
/// A message that says what to send.
pub async fn run(content: &Arc<Content>, arguments: Option<Map>, stop: StopCheck) -> ToolResult {
    let arguments = Arguments::read(arguments, &["conversation_id", "session_id", "config"])?;
    let id = match (arguments.id("conversation_id")?, arguments.id("session_id")?) {
        (Some(id), None) | (None, Some(id)) => id,
        _ => return Err("send either conversation_id or session_id".to_owned()),
    };
    let config = arguments.pack_text("config")?.map(|it| ParsedPack::parse(&it)).transpose()?.map(|it| it.pack);
    let recording = load(content, &id).await?;
    let report = run_blocking(move || recording.replay(config.as_ref(), &|| stop())).await.map_err(|it| database_text(&it))?;
    let report = report.map_err(|it| failure_text(&it))?;
    let lines = |of: &[String]| page(of.iter().map(|it| json!(it)).collect(), None).map(|it| it.0);
    Ok(Answer::new(json!({"equal": report.is_equal(), "turns": lines(&report.lines)?, "divergence": lines(&report.difference)?})))
}

/// Runs the tool `compare`.
///
/// # Errors
/// A message that says what to send.
pub async fn run_comparison(content: &Arc<Content>, arguments: Option<Map>, stop: StopCheck) -> ToolResult {
    let arguments = Arguments::read(arguments, &["conversation_id", "config", "cursor"])?;
    let cursor = arguments.text("cursor")?.map(str::to_owned);
    let id = arguments.id("conversation_id")?.ok_or("conversation_id is missing; send the id of a stored conversation or session")?;
    let pack = read_config(&arguments)?;
    let recording = load(content, &id).await?;
    let turns = run_blocking(move || recording.compare(&pack, &|| stop())).await.map_err(|it| database_text(&it))?;
    let turns = turns.map_err(|it| failure_text(&it))?;
    let is_equal = turns.iter().all(|it| it.differences.is_empty());
    let shown = |it: &ComparedTurn| json!({"turn": it.number, "equal": it.differences.is_empty(), "differences": it.differences});
    let (turns, next) = page(turns.iter().map(shown).collect::<Vec<Value>>(), cursor.as_deref())?;
    let mut compared = json!({"equal": is_equal, "turns": turns});
    if let Some(next) = next {
        compared["next_cursor"] = json!(next);
    }
    Ok(Answer::new(compared))
}

fn read_config(arguments: &Arguments) -> Result<Pack, String> {
    let text = arguments.pack_text("config")?.ok_or("config is missing; send the pack with the other configuration")?;
    Ok(ParsedPack::parse(&text)?.pack)
}

/// Loads the journals of a conversation or a session.
async fn load(content: &Content, id: &str) -> Result<Recording, String> {
    let turns = turn::list_ended(&content.readers, id).await.map_err(|it| database_text(&it))?;
    if turns.is_empty() {
        return Err(format!("{id} is not stored, or no turn of it has ended; check the id"));
    }
    Recording::load(&content.readers, id, turns).await.map_err(|it| database_text(&it))
}

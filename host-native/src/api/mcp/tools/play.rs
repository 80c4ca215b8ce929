//! `play`: plays a pack or a talk in the core, without a network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use convengine_core::json::diff::Difference;
use convengine_core::pack::Pack;
use convengine_core::turn::Map;
use convengine_storage::run_blocking;
use serde_json::{Value, json};

use super::developer::Description;
use super::{Answer, StopCheck, ToolResult, arguments_schema, database_text, object_schema};
use crate::api::host::Host;
use crate::api::mcp::arguments::Arguments;
use crate::api::mcp::pages::page;

/// The longest time that a pack plays.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Plays the turns of a pack; asks whether to stop before each.
pub type PackPlayer = fn(&Pack, &dyn Fn() -> bool) -> PlayReport;

/// The result of a played pack.
#[derive(Debug, Default)]
pub struct PlayReport {
    /// The turns that were played.
    pub turns: Vec<PlayedTurn>,
    /// Why playback stopped early.
    pub failure: Option<String>,
}

/// The result of a played turn.
#[derive(Debug)]
pub struct PlayedTurn {
    /// The turn, from 0.
    pub turn: usize,
    /// The differences from the expectations.
    pub differences: Vec<Difference>,
}

impl PlayReport {
    fn has_passed(&self) -> bool {
        self.failure.is_none() && self.turns.iter().all(|it| it.differences.is_empty())
    }
}

/// Describes the tool.
pub fn describe() -> Description {
    let input = arguments_schema(
        json!({
            "talk": {"type": "string", "description": "A talk; `pack` is then the configuration that its `config` line names"},
            "pack": {"type": ["object", "string"], "description": "A pack with turns, as an object or as text, or that of the talk"},
            "cursor": {"type": "string", "description": "The next_cursor of the page before"},
        }),
        &["pack"],
    );
    let output = object_schema(
        json!({
            "passed": {"type": "boolean"},
            "played": {"type": "integer", "description": "The number of turns that were played"},
            "failed": {"type": "array", "items": {"type": "object"}, "description": "The turns with differences: the turn from 0, and for each difference field, expected and actual"},
            "failure": {"type": "string", "description": "Why playback stopped early"},
            "next_cursor": {"type": "string"},
        }),
        &["passed", "played", "failed"],
    );
    let about = "Plays the turns of a pack, or a talk on a pack, and compares the results with what they expect. Nothing is stored, and \
        models and services answer as the pack or the talk says: nobody is called.";
    ("Play a talk or a pack", about, input, output)
}

/// Runs the tool.
///
/// # Errors
/// A message that says what to send.
pub async fn run(host: &Arc<Host>, arguments: Option<Map>, stop: StopCheck) -> ToolResult {
    let arguments = Arguments::read(arguments, &["talk", "pack", "cursor"])?;
    let cursor = arguments.text("cursor")?;
    let config = arguments.pack_text("pack")?.ok_or("pack is missing; send a pack, also beside a talk, whose configuration it is")?;
    let pack = match arguments.text("talk")? {
        None => Pack::parse(&config),
        Some(talk) => Pack::parse_talk(talk, |_| Ok(config.clone())),
    };
    let pack = pack.map_err(|it| it.to_string())?;
    if pack.turns.is_empty() {
        return Err("the pack has no turns; add some, or send a talk".to_owned());
    }
    let play = host.pack_player.get().copied().ok_or("this program cannot play packs; use `convengine test`")?;
    let end = Instant::now() + MAX_TIME;
    let report = run_blocking(move || play(&pack, &|| stop() || Instant::now() > end)).await.map_err(|it| database_text(&it))?;
    render(&report, cursor)
}

fn render(report: &PlayReport, cursor: Option<&str>) -> ToolResult {
    let difference = |it: &Difference| json!({"field": it.field, "expected": it.left, "actual": it.right});
    let turn = |it: &PlayedTurn| json!({"turn": it.turn, "differences": it.differences.iter().map(difference).collect::<Vec<Value>>()});
    let failed = report.turns.iter().filter(|it| !it.differences.is_empty());
    let (failed, next) = page(failed.map(turn).collect(), cursor)?;
    let mut done = json!({"passed": report.has_passed(), "played": report.turns.len(), "failed": failed});
    let more = [("failure", report.failure.clone()), ("next_cursor", next)];
    for (name, value) in more.into_iter().filter_map(|member| Some((member.0, member.1?))) {
        done[name] = json!(value);
    }
    Ok(Answer::new(done))
}

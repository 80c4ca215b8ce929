//! Asks what a change of the configuration would have changed: the recorded turns run again on it, and the first difference of each is
//! printed. No model and no task is called.
//!
//! Run it with `cargo run --example what_if`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use convengine_core::config::Config;
use convengine_core::json::diff::diff_leaves;
use convengine_core::pack::Pack;
use convengine_core::turn::{Journal, Notice, NoticeBody, Outcome, RescuedTurn, Turn, TurnError};
use serde_json::{Value, json};

/// The same conversation as in the example `replay`.
const RECORDED: &str = include_str!("recorded.json");

/// What is changed in the pack: the texts that are replaced, and what replaces them.
const CHANGES: [(&str, &str); 2] = [("open from 6 to 14", "open from 7 to 15"), ("You answer for a bakery.", "You are a baker.")];

fn main() -> Result<(), Box<dyn Error>> {
    let recording: Value = serde_json::from_str(RECORDED)?;
    let pack =
        recording.pointer("/configs").and_then(Value::as_object).and_then(|packs| packs.values().next()).ok_or("no pack")?.to_string();
    let changed = CHANGES.iter().fold(pack.clone(), |text, (from, to)| text.replace(from, to));
    let [before, after] = [compile(&pack)?, compile(&changed)?];
    for turn in recording.pointer("/turns").and_then(Value::as_array).into_iter().flatten() {
        let journal: Journal = serde_json::from_value(turn.get("journal").cloned().unwrap_or_default())?;
        println!("> {}", journal.input.event.text.as_deref().unwrap_or_default());
        let recorded = Turn::rescue(&journal, Arc::clone(&before))?;
        let replayed = Turn::rescue(&journal, Arc::clone(&after))?;
        println!("  recorded: {}", describe(&recorded));
        println!("  changed:  {}", describe(&replayed));
        let difference =
            recorded.slice.notices.iter().zip(&replayed.slice.notices).find(|(recorded, replayed)| recorded.body != replayed.body);
        if let Some((recorded, replayed)) = difference {
            println!("  first difference:");
            print_difference(recorded, replayed);
        }
    }
    Ok(())
}

fn compile(pack: &str) -> Result<Arc<Config>, Box<dyn Error>> {
    Ok(Arc::new(Pack::parse(pack)?.compile().0))
}

/// The answer of a turn, or why there is none: it would ask a model or a service something else, to which the recorded reply is no answer.
fn describe(rescued: &RescuedTurn) -> String {
    let answer = |outcome: &Outcome| outcome.payload.as_ref().map_or("no answer".to_owned(), |payload| payload.value.clone());
    match &rescued.divergence {
        Some(TurnError::Diverged(it)) => format!("would request something else as effect {}, in {}", it.effect.0, it.step),
        Some(error) => error.to_string(),
        None => rescued.slice.end.as_ref().map_or("cut off".to_owned(), answer),
    }
}

fn print_difference(recorded: &Notice, replayed: &Notice) {
    let [left, right] = [recorded, replayed].map(|notice| match &notice.body {
        NoticeBody::Audit { stage, payload } => (stage.to_string(), payload.to_value().into_owned()),
        NoticeBody::Verbose(message) => ("a progress message".to_owned(), json!(message)),
        NoticeBody::Message { message } => ("a message".to_owned(), message.clone()),
    });
    println!("    {} {}", recorded.seq, left.0);
    for line in diff_leaves(&left.1, &right.1) {
        println!("    {line}");
    }
}

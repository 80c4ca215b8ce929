//! Replays what a server has recorded: each turn runs again from its journal, without the model and the tasks that it called, and says why
//! it answered as it did.
//!
//! Run it with `cargo run --example replay`. With `-- FILE` it replays another conversation, as
//! `convengine journal --conversation ID` prints it.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "an example prints, and reads a file that is named")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::{env, fs};

use convengine_core::pack::Pack;
use convengine_core::turn::{Candidate, Explanation, Journal, Turn, Verdict, state_hash};
use serde::Deserialize;
use serde_json::Value;

/// What `convengine journal` prints.
#[derive(Deserialize)]
struct Recording {
    turns: Vec<RecordedTurn>,
    /// A pack of each configuration that a turn ran on, by its hash.
    configs: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedTurn {
    config: String,
    state_hash: String,
    journal: Journal,
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args().nth(1);
    let text = file.map_or_else(|| Ok(include_str!("recorded.json").to_owned()), fs::read_to_string)?;
    let recording: Recording = serde_json::from_str(&text)?;
    for recorded in recording.turns {
        let pack = recording.configs.get(&recorded.config).ok_or("the configuration is not in the recording")?;
        let (config, _) = Pack::parse(&pack.to_string())?.compile();
        let journal = recorded.journal;
        println!("> {}", journal.input.event.text.as_deref().unwrap_or_default());
        // An error is a turn that would request something else today, with the difference.
        let (turn, slice) = Turn::restore_observed(journal, Arc::new(config))?;
        let outcome = slice.end.ok_or("the turn was cut off")?;
        println!("< {}", outcome.payload.as_ref().map_or("no answer", |payload| payload.value.as_str()));
        let is_equal = state_hash(&outcome, &slice.notices) == recorded.state_hash;
        let answers = turn.journal().entries.len();
        println!("  {answers} answers from the journal, {}", if is_equal { "equal to the recorded turn" } else { "another result" });
        turn.explanations().iter().for_each(print_decision);
    }
    Ok(())
}

/// Prints which rows a decision has chosen, if it chose among rows.
fn print_decision(explanation: &Explanation) {
    let is_chosen_row = |row: &&Candidate| row.verdict == Verdict::Won && !row.table.is_empty();
    for row in explanation.rows.iter().filter(is_chosen_row) {
        println!("  {}: {} {} '{}'", explanation.topic, row.table, row.id.unwrap_or_default(), row.name);
    }
}

//! What a turn takes on the disk, for packs whose conversations can be held again and again.
//!
//! A figure is the growth of the database (the file of SQLite, `pg_database_size` of PostgreSQL) from the first message to the last,
//! divided by the turns. It counts everything that a turn leaves: rows of all tables, their indexes, the room that is free in pages,
//! and the catalogue's own growth; not what is there before the first message.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Soak;

/// The packs, from words alone to models and tools in every turn.
const PACKS: [&str; 15] = [
    "bench/plain",
    "demo/help_desk",
    "demo/rule_lab",
    "demo/model_acts",
    "demo/loan",
    "demo/card_replacement",
    "recorded/s01_order_status_faq",
    "recorded/s05_correction",
    "recorded/s06_guardrail",
    "recorded/s13_responses",
    "recorded/s17_reset",
    "recorded/s28_schema_types",
    "tools/calculator",
    "tools/document_search",
    "tools/workflow_and_notification",
];

const KIB: f64 = 1024.0;

/// A way to store: its name, the settings that ask for it, the most bytes a turn, and whether that holds only without a model.
type Stored = (&'static str, &'static [&'static str], f64, bool);

/// What is stored. The texts of models may be of any length: with them a limit holds only where they are stored once. (`decisions.md` 4)
const STORED: [Stored; 3] = [
    ("ALL", &[], 32.0 * KIB, true),
    ("STANDARD", &["convengine.audit.level=STANDARD"], 16.0 * KIB, true),
    ("DERIVED", &["convengine.audit.persistence.mode=DERIVED"], 5.0 * KIB, false),
];

/// Prints the table and answers which figures are above their limits.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    print!("\n{:<36}{:>8}", "bytes a turn", "turns");
    for (database, _) in soak.databases() {
        STORED.iter().for_each(|it| print!("{:>22}", format!("{database} {}", it.0)));
    }
    println!();
    let mut broken = Vec::new();
    for pack in PACKS {
        let has_model = has_model(soak, pack)?;
        let mut figures = Vec::new();
        let mut turns = 0.0;
        for (name, database) in soak.databases() {
            for (stored, set, limit, without_model) in STORED {
                let seen = soak.talk(&[&["size", database.as_str(), pack], set].concat())?;
                turns = seen.number("/turns")?;
                let bytes = seen.number("/bytes")?;
                figures.push(format!("{bytes:>22.0}"));
                let is_limited = !(without_model && has_model);
                broken.extend(
                    (is_limited && bytes > limit)
                        .then(|| format!("{pack}, {name} {stored}: {bytes:.0} bytes a turn, at most {limit:.0} are allowed")),
                );
            }
        }
        println!("{pack:<36}{turns:>8}{}", figures.concat());
    }
    Ok(broken)
}

/// Whether a pack has a script for a model.
fn has_model(soak: &Soak<'_>, pack: &str) -> Result<bool> {
    let file = soak.project.root.join("tests/packs").join(pack).with_extension("json");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let pack: Value = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    Ok(pack["llm"].as_array().is_some_and(|it| !it.is_empty()))
}

//! What a turn takes on the disk, for packs whose conversations can be held again and again.
//!
//! The first figure is what the database grows by, divided by the turns: rows of all tables, their indexes, the room that is free in
//! pages; not what waits to be used again. The second is that of the rows alone.

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

/// A way to store.
struct Stored {
    name: &'static str,
    /// The settings that ask for it.
    set: &'static [&'static str],
    /// The most bytes a turn.
    limit: f64,
    /// Whose bytes: of all that the database grows by, or of the rows alone.
    of: &'static str,
    /// Whether the limit holds only without a model, whose texts may be of any length.
    without_model: bool,
}

/// What is stored. (`decisions.md` 4)
const STORED: [Stored; 3] = [
    Stored { name: "ALL", set: &[], limit: 32.0 * KIB, of: "/rows", without_model: true },
    Stored { name: "STANDARD", set: &["convengine.audit.level=STANDARD"], limit: 16.0 * KIB, of: "/rows", without_model: true },
    Stored { name: "DERIVED", set: &["convengine.audit.persistence.mode=DERIVED"], limit: 5.0 * KIB, of: "/bytes", without_model: false },
];

/// Prints the table and answers which figures are above their limits.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    print!("\n{:<32}{:>7}", "bytes a turn (of its rows)", "turns");
    for (database, _) in soak.databases() {
        STORED.iter().for_each(|it| print!("{:>22}", format!("{database} {}", it.name)));
    }
    println!();
    let mut broken = Vec::new();
    for pack in PACKS {
        let has_model = has_model(soak, pack)?;
        let mut figures = Vec::new();
        let mut turns = 0.0;
        for (name, database) in soak.databases() {
            for stored in &STORED {
                let seen = soak.talk(&[&["size", database.as_str(), pack], stored.set].concat())?;
                turns = seen.number("/turns")?;
                figures.push(format!("{:>22}", format!("{:.0} ({:.0})", seen.number("/bytes")?, seen.number("/rows")?)));
                let (bytes, limit) = (seen.number(stored.of)?, stored.limit);
                if bytes > limit && !(stored.without_model && has_model) {
                    broken.push(format!("{pack}, {name} {}: {bytes:.0} bytes a turn, at most {limit:.0} are allowed", stored.name));
                }
            }
        }
        println!("{pack:<32}{turns:>7}{}", figures.concat());
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

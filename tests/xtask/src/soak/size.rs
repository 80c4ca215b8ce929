//! The storage size of a turn, for packs whose conversations can be repeated.
//!
//! The first figure is the growth of the database per turn: rows of all tables, indexes and free space in pages, but not free pages. The
//! second is the size of the rows only.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Soak;

/// The packs, from fixed texts to models and tools in every turn.
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

/// An audit mode and its limit.
struct AuditMode {
    name: &'static str,
    /// The settings of the mode.
    settings: &'static [&'static str],
    /// The maximum number of bytes per turn.
    limit: f64,
    /// The figure that is limited: `/bytes` (the growth of the database) or `/rows` (the rows only).
    figure: &'static str,
    /// Whether the limit applies only to packs without a model, whose texts may have any length.
    without_model: bool,
}

/// The audit modes (docs/decisions/0015-one-transaction-per-turn.md).
const AUDIT_MODES: [AuditMode; 3] = [
    AuditMode { name: "ALL", settings: &[], limit: 32.0 * KIB, figure: "/rows", without_model: true },
    AuditMode { name: "STANDARD", settings: &["convengine.audit.level=STANDARD"], limit: 16.0 * KIB, figure: "/rows", without_model: true },
    AuditMode {
        name: "DERIVED",
        settings: &["convengine.audit.persistence.mode=DERIVED"],
        limit: 5.0 * KIB,
        figure: "/bytes",
        without_model: false,
    },
];

/// Prints the table; returns the figures above their limits.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    print!("\n{:<32}{:>7}", "bytes per turn (rows only)", "turns");
    for (database, _) in soak.databases() {
        AUDIT_MODES.iter().for_each(|mode| print!("{:>22}", format!("{database} {}", mode.name)));
    }
    println!();
    let mut failures = Vec::new();
    for pack in PACKS {
        let has_model = has_model(soak, pack)?;
        let mut figures = Vec::new();
        let mut turns = 0.0;
        for (name, database) in soak.databases() {
            for stored in &AUDIT_MODES {
                let seen = soak.run_program(&[&["size", database.as_str(), pack], stored.settings].concat())?;
                turns = seen.number("/turns")?;
                figures.push(format!("{:>22}", format!("{:.0} ({:.0})", seen.number("/bytes")?, seen.number("/rows")?)));
                let (bytes, limit) = (seen.number(stored.figure)?, stored.limit);
                if bytes > limit && !(stored.without_model && has_model) {
                    failures.push(format!("{pack}, {name} {}: {bytes:.0} bytes per turn, the limit is {limit:.0}", stored.name));
                }
            }
        }
        println!("{pack:<32}{turns:>7}{}", figures.concat());
    }
    Ok(failures)
}

/// Returns whether a pack has a scripted model.
fn has_model(soak: &Soak<'_>, pack: &str) -> Result<bool> {
    let file = soak.project.root.join("tests/packs").join(pack).with_extension("json");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let pack: Value = serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    Ok(pack["llm"].as_array().is_some_and(|it| !it.is_empty()))
}

//! What a turn takes on the disk, for packs whose conversations can be held again and again.

use anyhow::Result;

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

/// What is stored, by the settings that say so.
const STORED: [(&str, &[&str]); 3] =
    [("ALL", &[]), ("STANDARD", &["convengine.audit.level=STANDARD"]), ("DERIVED", &["convengine.audit.persistence.mode=DERIVED"])];

/// Prints the table.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    print!("\n{:<36}{:>8}", "bytes a turn", "turns");
    for (database, _) in soak.databases() {
        STORED.iter().for_each(|(stored, _)| print!("{:>22}", format!("{database} {stored}")));
    }
    println!();
    for pack in PACKS {
        let mut figures = Vec::new();
        let mut turns = 0.0;
        for (_, database) in soak.databases() {
            for (_, set) in STORED {
                let seen = soak.talk(&[&["size", database.as_str(), pack], set].concat())?;
                turns = seen.number("/turns")?;
                figures.push(format!("{:>22.0}", seen.number("/bytes")?));
            }
        }
        println!("{pack:<36}{turns:>8}{}", figures.concat());
    }
    Ok(Vec::new())
}

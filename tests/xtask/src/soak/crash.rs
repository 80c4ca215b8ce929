//! Servers that are killed at every point of a turn: what becomes of the turn, of the answer, and of what was written outside.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Soak;
use crate::sh;

/// Kills, and prints a line for each pack.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut broken = Vec::new();
    println!("| database | pack | points | kills | equal | write in doubt | wrong |");
    println!("|---|---|---|---|---|---|---|");
    for (name, database) in soak.databases() {
        let text = sh::output(&mut soak.command(&["crash", &database, "1"])).context("the crashes failed")?;
        let packs: Vec<Value> = serde_json::from_str(text.trim()).with_context(|| format!("the crashes printed: {text}"))?;
        for pack in &packs {
            let count = |member: &str| pack[member].as_u64().unwrap_or(0);
            let wrong: Vec<&str> = pack["violations"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} |",
                pack["pack"].as_str().unwrap_or_default(),
                count("crossings"),
                count("kills"),
                count("equal"),
                count("in_doubt"),
                wrong.len()
            );
            broken.extend(wrong.iter().map(|it| format!("{name}: {it}")));
        }
        let kills: u64 = packs.iter().filter_map(|it| it["kills"].as_u64()).sum();
        println!("| {name} | all | | {kills} | | | |");
    }
    Ok(broken)
}

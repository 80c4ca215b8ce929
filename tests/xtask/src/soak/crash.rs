//! Crash tests: servers that are killed at every point of a turn.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Soak;
use crate::sh;

/// Runs the crash tests and prints a line for each pack; returns what failed.
pub fn run(soak: &mut Soak<'_>) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    println!("| database | pack | crash points | kills | equal | write in doubt | violations |");
    println!("|---|---|---|---|---|---|---|");
    for (name, database) in soak.databases() {
        let text = sh::output(&mut soak.command(&["crash", &database, "1"])).context("the crash tests failed")?;
        let packs: Vec<Value> = serde_json::from_str(text.trim()).with_context(|| format!("the crash tests printed: {text}"))?;
        for pack in &packs {
            let count = |member: &str| pack[member].as_u64().unwrap_or(0);
            let violations: Vec<&str> = pack["violations"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            println!(
                "| {name} | {} | {} | {} | {} | {} | {} |",
                pack["pack"].as_str().unwrap_or_default(),
                count("crossings"),
                count("kills"),
                count("equal"),
                count("in_doubt"),
                violations.len()
            );
            failures.extend(violations.iter().map(|it| format!("{name}: {it}")));
        }
        let kills: u64 = packs.iter().filter_map(|it| it["kills"].as_u64()).sum();
        println!("| {name} | all | | {kills} | | | |");
    }
    Ok(failures)
}

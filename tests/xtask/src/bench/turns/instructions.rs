//! Instructions and allocations of the whole server per turn, which have limits in the budget file.

use std::path::Path;

use anyhow::Result;

use super::super::Bench;
use super::super::callgrind::{Cost, CountedServer};
use super::super::database::{Database, Kind};
use super::super::server::{Load, Scenario};
use super::{NOW, engines, scenarios};
use crate::{install, sh};

/// The load before anything is counted, which prepares statements and fills caches.
const WARM_UP: &str = "conversations:3";

/// The load that is counted.
const LOAD: &str = "conversations:10";

/// The counts by scenario and engine, on SQLite.
pub struct Instructions(Vec<(&'static str, &'static str, Cost)>);

impl Instructions {
    /// Counts with one connection, also for the engine `before`.
    pub fn measure(bench: &Bench<'_>, before: Option<&Path>) -> Result<Self> {
        install::ensure_valgrind()?;
        sh::print_progress("counting instructions and allocations of the server");
        let mut counts = Vec::new();
        for scenario in scenarios() {
            for engine in engines(bench, before) {
                counts.push((scenario.name, engine.name, count_turns(bench, Kind::Sqlite, &engine.program, scenario)?));
            }
        }
        Ok(Self(counts))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<40}{:<9}{:>14}{:>14}", "per whole turn, SQLite, 1 connection", "server", "instructions", "allocations");
        for (scenario, engine, cost) in &self.0 {
            println!("{scenario:<40}{engine:<9}{:>14}{:>14}", cost.instructions, cost.allocations);
        }
    }

    /// Returns the figures that have a limit in the budget file.
    pub fn budget_figures(&self) -> Vec<(&'static str, Option<u64>)> {
        let instructions = |name: &str| self.0.iter().find(|row| row.0 == name && row.1 == NOW).map(|row| row.2.instructions);
        vec![
            ("turn_instructions_all", instructions("tables, ALL")),
            ("turn_instructions_derived", instructions("tables, DERIVED")),
            ("turn_instructions_flow", instructions("flow")),
        ]
    }
}

/// Returns the cost of a turn.
pub fn count_turns(bench: &Bench<'_>, kind: Kind<'_>, engine: &Path, scenario: Scenario<'_>) -> Result<Cost> {
    let database = Database::create(bench, kind, "counted", engine, scenario.pack)?;
    let mut counted = CountedServer::start(bench, engine, scenario, &database)?;
    let mut load = Load::connect(bench, &counted.server, scenario.pack, 1)?;
    load.play(WARM_UP)?;
    let (seen, cost) = counted.count(|| load.play(LOAD))?;
    Ok(cost.per(seen.turns))
}

//! The memory of a server over many turns.

use anyhow::Result;

use super::super::database::{Database, Kind};
use super::super::server::{Load, Server};
use super::super::{Bench, Extent, Target};
use super::{Engine, NOW, all, print_progress};

const CONNECTIONS: usize = 64;

/// The number of times that memory is read.
const STEPS: u64 = 5;

/// The number of turns from which the targets apply.
const TARGET_TURNS: u64 = 100_000;

struct Row {
    database: &'static str,
    engine: &'static str,
    /// Turns so far and resident memory in MB, from the first turn on.
    points: Vec<(u64, f64)>,
}

/// The memory by turns.
pub struct Memory(Vec<Row>);

impl Memory {
    /// Plays conversations and reads the memory between them.
    pub fn measure(bench: &Bench<'_>, extent: Extent, kinds: &[Kind<'_>], engines: &[Engine]) -> Result<Self> {
        let mut rows = Vec::new();
        for kind in kinds {
            print_progress(&format!("measuring memory over {} turns", extent.memory_turns), *kind, all());
            for engine in engines {
                rows.push(Row { database: kind.name(), engine: engine.name, points: measure_points(bench, extent, *kind, engine)? });
            }
        }
        Ok(Self(rows))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\n{:<40}{:<9}{:>16}{:>14}",
            format!("memory, {}, {CONNECTIONS} connections", all().name),
            "server",
            "after turns",
            "resident MB"
        );
        for row in &self.0 {
            for (turns, mb) in &row.points {
                println!("{:<40}{:<9}{turns:>16}{mb:>14.1}", row.database, row.engine);
            }
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for row in self.0.iter().filter(|it| it.engine == NOW) {
            if let [.., (_, middle), _, _, (turns, last)] = row.points.as_slice()
                && *turns >= TARGET_TURNS
            {
                let label = format!("{}, {CONNECTIONS} connections, {turns} turns", row.database);
                targets.push(Target::at_most(format!("{label}: resident"), *last, 45.0, 1, " MB"));
                targets.push(Target::at_most(format!("{label}: growth since two fifths"), last - middle, 1.0, 1, " MB"));
            }
        }
        targets
    }
}

fn measure_points(bench: &Bench<'_>, extent: Extent, kind: Kind<'_>, engine: &Engine) -> Result<Vec<(u64, f64)>> {
    let database = Database::create(bench, kind, "memory", &engine.program, all().pack)?;
    let server = Server::start_engine(bench, &engine.program, all(), &database)?;
    let mut load = Load::connect(bench, &server, all().pack, CONNECTIONS)?;
    let resident_mb = || anyhow::Ok(server.resident_kb()? as f64 / 1024.0);
    let mut turns = load.play("conversations:1")?.turns;
    let per_conversation = turns;
    let mut points = vec![(turns, resident_mb()?)];
    for _ in 0..STEPS {
        turns += load.play(&format!("conversations:{}", extent.memory_turns / STEPS / per_conversation))?.turns;
        points.push((turns, resident_mb()?));
    }
    Ok(points)
}

//! Starts and turns by the number of configured rows.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::super::database::{Database, Kind};
use super::super::server::{Load, Scenario, Server};
use super::super::{Bench, Extent, Sampled, Target};
use super::instructions::count_turns;
use super::{Engine, NOW, print_progress};
use crate::sh;

/// The sizes of the generated configurations.
const ROWS: [u64; 3] = [10, 1_000, 10_000];

const CONNECTIONS: usize = 8;

/// The number of starts that are timed.
const STARTS: usize = 3;

struct Row {
    database: &'static str,
    engine: &'static str,
    rows: u64,
    first_answer_ms: Vec<f64>,
    resident_kb: Vec<f64>,
    cpu_us: Vec<f64>,
    /// Counted on SQLite only.
    instructions: Option<u64>,
}

/// The figures by size.
pub struct Rows(Vec<Row>);

impl Rows {
    /// Measures all sizes, alternating between them.
    pub fn measure(bench: &Bench<'_>, extent: Extent, kinds: &[Kind<'_>], engines: &[Engine]) -> Result<Self> {
        let packs: Vec<(u64, PathBuf)> = ROWS.into_iter().map(|rows| Ok((rows, generate(bench, rows)?))).collect::<Result<_>>()?;
        let mut rows = Vec::new();
        for kind in kinds {
            print_progress(
                "measuring sizes of configurations",
                *kind,
                Scenario { name: "10 to 10,000 rows", pack: Path::new(""), settings: &[] },
            );
            for engine in engines {
                rows.extend(measure_sizes(bench, extent, *kind, engine, &packs)?);
            }
        }
        Ok(Self(rows))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\n{:<40}{:<9}{:>24}{:>10}{:>24}{:>14}",
            "by configured rows", "server", "first answer after ms", "MB", "CPU µs/turn", "instructions"
        );
        for row in &self.0 {
            println!(
                "{:<40}{:<9}{:>24}{:>10.1}{:>24}{:>14}",
                format!("{}, {} rows", row.database, row.rows),
                row.engine,
                Sampled::new(row.first_answer_ms.iter().copied()).format(0),
                row.resident_mb(),
                Sampled::new(row.cpu_us.iter().copied()).format(0),
                row.instructions.map_or("-".to_owned(), |it| it.to_string()),
            );
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        let row =
            |database: &str, rows: u64| self.0.iter().find(move |row| row.database == database && row.rows == rows && row.engine == NOW);
        for database in ["SQLite", "PostgreSQL"] {
            let Some((few, many)) = row(database, 10).zip(row(database, 10_000)) else { continue };
            let median = |values: &[f64]| Sampled::new(values.iter().copied()).median;
            let label = format!("{database}, 10,000 rows");
            targets.push(Target::at_most(format!("{label} to 10, CPU"), median(&many.cpu_us) / median(&few.cpu_us), 1.05, 2, ""));
            if let Some((many, few)) = many.instructions.zip(few.instructions) {
                targets.push(Target::at_most(format!("{label} to 10, instructions"), many as f64 / few as f64, 1.05, 2, ""));
            }
            targets.push(Target::at_most(format!("{label}: first answer after"), median(&many.first_answer_ms), 200.0, 0, " ms"));
            targets.push(Target::at_most(format!("{label}: resident"), many.resident_mb(), 80.0, 1, " MB"));
        }
        targets
    }
}

impl Row {
    /// Returns the memory after the first answer.
    fn resident_mb(&self) -> f64 {
        Sampled::new(self.resident_kb.iter().copied()).median / 1024.0
    }
}

/// Writes a generated pack.
fn generate(bench: &Bench<'_>, rows: u64) -> Result<PathBuf> {
    let file = bench.folder.join(format!("rows-{rows}.json"));
    let mut command = bench.project.command(bench.release_binary("test-tools"));
    fs::write(&file, sh::output(command.arg("synthetic").arg(rows.to_string())).context("cannot generate a configuration")?)?;
    Ok(file)
}

fn measure_sizes(bench: &Bench<'_>, extent: Extent, kind: Kind<'_>, engine: &Engine, packs: &[(u64, PathBuf)]) -> Result<Vec<Row>> {
    let (mut rows, mut running) = (Vec::new(), Vec::new());
    for (count, pack) in packs {
        let scenario = Scenario { name: "rows", pack, settings: &[] };
        let database = Database::create(bench, kind, &format!("rows-{count}"), &engine.program, pack)?;
        let (mut first_answer_ms, mut resident_kb) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let started = Instant::now();
            let server = Server::start_engine(bench, &engine.program, scenario, &database)?;
            server.wait_for_first_answer(bench, pack)?;
            first_answer_ms.push(started.elapsed().as_secs_f64() * 1_000.0);
            resident_kb.push(server.resident_kb()? as f64);
        }
        let instructions = match kind {
            Kind::Sqlite => Some(count_turns(bench, kind, &engine.program, scenario)?.instructions),
            Kind::Postgres(_) => None,
        };
        let (database_name, engine_name) = (kind.name(), engine.name);
        rows.push(Row {
            database: database_name,
            engine: engine_name,
            rows: *count,
            first_answer_ms,
            resident_kb,
            cpu_us: Vec::new(),
            instructions,
        });
        running.push((Server::start_engine(bench, &engine.program, scenario, &database)?, database, pack));
    }
    for _ in 0..extent.rounds {
        for ((server, database, pack), row) in running.iter().zip(&mut rows) {
            let mut load = Load::connect(bench, server, pack, CONNECTIONS)?;
            let before = server.cpu_us()? + database.cpu_us()?;
            let seen = load.play(&format!("seconds:{}", extent.seconds))?;
            row.cpu_us.push((server.cpu_us()? + database.cpu_us()? - before) as f64 / seen.turns as f64);
        }
    }
    Ok(rows)
}

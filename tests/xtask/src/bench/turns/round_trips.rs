//! Statements and round trips to the database per turn.

use anyhow::{Result, ensure};

use super::super::database::{Database, Kind};
use super::super::proxy::Proxy;
use super::super::server::{Load, Scenario, Server, engine_command};
use super::super::{Bench, Target};
use super::{Engine, NOW, print_progress, scenarios};

/// The load whose statements are counted, after an equal one that prepares them.
const LOAD: &str = "conversations:20";

/// The log target of statements on SQLite. Those on PostgreSQL are not logged; the proxy counts them.
const STATEMENT: &str = "sqlx::query";

struct Row {
    database: &'static str,
    scenario: &'static str,
    engine: &'static str,
    statements: f64,
    /// `None` for SQLite, which is in the same process.
    round_trips: Option<f64>,
}

/// The counts.
pub struct RoundTrips(Vec<Row>);

impl RoundTrips {
    /// Counts with one connection.
    pub fn measure(bench: &Bench<'_>, kinds: &[Kind<'_>], engines: &[Engine]) -> Result<Self> {
        let mut rows = Vec::new();
        for kind in kinds {
            for scenario in scenarios() {
                print_progress("counting statements and round trips", *kind, scenario);
                for engine in engines {
                    rows.push(count(bench, *kind, engine, scenario)?);
                }
            }
        }
        Ok(Self(rows))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<40}{:<9}{:>12}{:>14}", "per turn, 1 connection", "server", "statements", "round trips");
        for row in &self.0 {
            let round_trips = row.round_trips.map_or("-".to_owned(), |it| format!("{it:.2}"));
            let label = format!("{}, {}", row.database, row.scenario);
            println!("{label:<40}{:<9}{:>12.2}{round_trips:>14}", row.engine, row.statements);
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let target = |row: &Row| {
            let label = format!("{}, {}: round trips", row.database, row.scenario);
            // Background tasks have some, too.
            row.round_trips.map(|count| Target::at_most(label, count, 3.05, 2, " per turn"))
        };
        self.0.iter().filter(|it| it.engine == NOW).filter_map(target).collect()
    }
}

/// Returns the statements per turn.
pub fn count_statements(bench: &Bench<'_>, kind: Kind<'_>, engine: &Engine, scenario: Scenario<'static>) -> Result<f64> {
    Ok(count(bench, kind, engine, scenario)?.statements)
}

fn count(bench: &Bench<'_>, kind: Kind<'_>, engine: &Engine, scenario: Scenario<'static>) -> Result<Row> {
    let database = Database::create(bench, kind, "round-trips", &engine.program, scenario.pack)?;
    let proxy = match kind {
        Kind::Sqlite => None,
        Kind::Postgres(cluster) => Some(Proxy::start(cluster.port())?),
    };
    let url = proxy.as_ref().map_or_else(|| database.url(), |proxy| database.postgres_url(proxy.port()));
    let mut command = engine_command(bench, &engine.program, scenario, &url)?;
    command.env("RUST_LOG", format!("{STATEMENT}=debug"));
    let server = Server::start(command, &database)?;
    let mut load = Load::connect(bench, &server, scenario.pack, 1)?;
    load.play(LOAD)?;
    let counts = || match &proxy {
        Some(proxy) => Ok(proxy.counts()),
        None => server.read_log().map(|log| (log.matches(STATEMENT).count() as u64, 0)),
    };
    let before = counts()?;
    let seen = load.play(LOAD)?;
    let after = counts()?;
    let per_turn = |after: u64, before: u64| (after - before) as f64 / seen.turns as f64;
    let statements = per_turn(after.0, before.0);
    ensure!(statements > 0.0, "no statement was counted");
    let round_trips = proxy.is_some().then(|| per_turn(after.1, before.1));
    Ok(Row { database: kind.name(), scenario: scenario.name, engine: engine.name, statements, round_trips })
}

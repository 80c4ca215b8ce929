//! Throughput, latency, processor time and bytes of turns, by database, audit and connections.

use anyhow::Result;

use super::super::database::{Database, Kind};
use super::super::server::{Load, Scenario, Server};
use super::super::{Bench, Extent, Sampled, Target};
use super::{Engine, NOW, print_progress, scenarios};

/// The numbers of concurrent conversations.
const CONNECTIONS: [usize; 3] = [1, 8, 64];

/// The server without a core, among the engines.
const CEILING: &str = "ceiling";

#[derive(Clone, Copy)]
struct Sample {
    rate: f64,
    p50_ms: f64,
    p99_ms: f64,
    server_ms: f64,
    database_ms: f64,
}

/// The samples of one server with one number of connections.
struct Row {
    database: &'static str,
    scenario: &'static str,
    connections: usize,
    server: &'static str,
    samples: Vec<Sample>,
    /// The bytes of the database per turn, over all numbers of connections.
    bytes: u64,
}

/// The timings.
pub struct Timing(Vec<Row>);

/// A server with its own database.
struct Contender<'b> {
    name: &'static str,
    server: Server,
    database: Database<'b>,
    empty_bytes: u64,
    turns: u64,
    samples: Vec<(usize, Vec<Sample>)>,
}

impl Timing {
    /// Measures all servers, alternating between them.
    pub fn measure(bench: &Bench<'_>, extent: Extent, kinds: &[Kind<'_>], engines: &[Engine]) -> Result<Self> {
        let mut rows = Vec::new();
        for kind in kinds {
            for scenario in scenarios() {
                print_progress(&format!("timing turns, {} × {} s per server", extent.rounds, extent.seconds), *kind, scenario);
                rows.extend(measure_scenario(bench, extent, *kind, engines, scenario)?);
            }
        }
        Ok(Self(rows))
    }

    /// Prints the table.
    pub fn print(&self) {
        println!(
            "\n{:<40}{:<9}{:>26}{:>9}{:>9}{:>24}{:>12}{:>13}",
            "whole turns", "server", "turns/s [min – max]", "p50 ms", "p99 ms", "server CPU ms/turn", "backend ms", "bytes/turn"
        );
        for row in &self.0 {
            let sampled = |value: fn(&Sample) -> f64| Sampled::new(row.samples.iter().map(value));
            println!(
                "{:<40}{:<9}{:>26}{:>9.2}{:>9.2}{:>24}{:>12}{:>13}",
                format!("{}, {}, {}", row.database, row.scenario, row.connections),
                row.server,
                sampled(|it| it.rate).format(0),
                sampled(|it| it.p50_ms).median,
                sampled(|it| it.p99_ms).median,
                sampled(|it| it.server_ms).format(3),
                if row.database == "SQLite" { "-".to_owned() } else { format!("{:.3}", sampled(|it| it.database_ms).median) },
                row.bytes,
            );
        }
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        for (scenario, connections, most_ms, least_rate) in [
            ("tables, ALL", 8, 0.60, None),
            ("tables, ALL", 64, 0.60, Some(1_900.0)),
            ("tables, DERIVED", 8, 0.30, None),
            ("tables, DERIVED", 64, 0.30, Some(3_500.0)),
            ("flow", 8, 0.35, None),
            ("flow", 64, 0.35, None),
        ] {
            let label = format!("SQLite, {scenario}, {connections} connections");
            let Some(now) = self.find("SQLite", scenario, connections, NOW) else { continue };
            targets.push(Target::at_most(format!("{label}: server CPU"), now.median(|it| it.server_ms), most_ms, 2, " ms"));
            targets.extend(least_rate.map(|least| Target::at_least(label.clone(), now.median(|sample| sample.rate), least, 0, " turns/s")));
            if let Some(ceiling) = self.find("SQLite", scenario, connections, CEILING) {
                let share = now.median(|it| it.rate) / ceiling.median(|it| it.rate);
                targets.push(Target::at_least(format!("{label}: of the ceiling"), share, 0.6, 2, ""));
            }
        }
        if let Some(now) = self.find("PostgreSQL", "tables, ALL", 64, NOW) {
            let label = "PostgreSQL, tables, ALL, 64 connections";
            targets.push(Target::at_least(label.to_owned(), now.median(|it| it.rate), 1_400.0, 0, " turns/s"));
            let both = now.median(|it| it.server_ms + it.database_ms);
            targets.push(Target::at_most(format!("{label}: CPU with backends"), both, 1.2, 2, " ms"));
        }
        for row in self.0.iter().filter(|row| row.connections == 1 && row.server == NOW) {
            let label = format!("{}, {}, 1 connection: p99", row.database, row.scenario);
            targets.push(Target::at_most(label, row.median(|it| it.p99_ms), 3.0, 2, " ms"));
        }
        targets
    }

    fn find(&self, database: &str, scenario: &str, connections: usize, server: &str) -> Option<&Row> {
        let mut rows = self.0.iter().filter(|row| row.database == database && row.scenario == scenario);
        rows.find(|row| row.connections == connections && row.server == server)
    }
}

impl Row {
    fn median(&self, value: impl Fn(&Sample) -> f64) -> f64 {
        Sampled::new(self.samples.iter().map(value)).median
    }
}

fn measure_scenario(
    bench: &Bench<'_>,
    extent: Extent,
    kind: Kind<'_>,
    engines: &[Engine],
    scenario: Scenario<'static>,
) -> Result<Vec<Row>> {
    let mut contenders = engines.iter().map(|it| Contender::start(bench, kind, it, scenario)).collect::<Result<Vec<_>>>()?;
    contenders.push(Contender::start_ceiling(bench, kind, scenario)?);
    for connections in CONNECTIONS {
        contenders.iter_mut().for_each(|contender| contender.samples.push((connections, Vec::new())));
        for _ in 0..extent.rounds {
            for contender in &mut contenders {
                contender.sample(bench, scenario, connections, extent.seconds)?;
            }
        }
    }
    let finished = contenders.into_iter().map(|it| it.finish(kind, scenario)).collect::<Result<Vec<_>>>()?;
    let mut rows: Vec<Row> = finished.into_iter().flatten().collect();
    rows.sort_by_key(|it| it.connections);
    Ok(rows)
}

impl<'b> Contender<'b> {
    fn start(bench: &'b Bench<'_>, kind: Kind<'b>, engine: &Engine, scenario: Scenario<'_>) -> Result<Self> {
        let database = Database::create(bench, kind, engine.name, &engine.program, scenario.pack)?;
        let empty_bytes = database.bytes()?;
        let server = Server::start_engine(bench, &engine.program, scenario, &database)?;
        Ok(Self { name: engine.name, server, database, empty_bytes, turns: 0, samples: Vec::new() })
    }

    /// The current engine creates the database of the ceiling.
    fn start_ceiling(bench: &'b Bench<'_>, kind: Kind<'b>, scenario: Scenario<'_>) -> Result<Self> {
        let current = bench.release_binary("convengine");
        let database = Database::create(bench, kind, CEILING, &current, scenario.pack)?;
        let empty_bytes = database.bytes()?;
        let server = Server::start_ceiling(bench, scenario, &database)?;
        Ok(Self { name: CEILING, server, database, empty_bytes, turns: 0, samples: Vec::new() })
    }

    fn sample(&mut self, bench: &Bench<'_>, scenario: Scenario<'_>, connections: usize, seconds: u64) -> Result<()> {
        let mut load = Load::connect(bench, &self.server, scenario.pack, connections)?;
        let (server, database) = (self.server.cpu_us()?, self.database.cpu_us()?);
        let seen = load.play(&format!("seconds:{seconds}"))?;
        let per_turn = |us: u64| us as f64 / 1_000.0 / seen.turns as f64;
        let sample = Sample {
            rate: seen.rate,
            p50_ms: seen.p50_us / 1_000.0,
            p99_ms: seen.p99_us / 1_000.0,
            server_ms: per_turn(self.server.cpu_us()? - server),
            database_ms: per_turn(self.database.cpu_us()? - database),
        };
        self.turns += seen.turns;
        if let Some((_, samples)) = self.samples.last_mut() {
            samples.push(sample);
        }
        Ok(())
    }

    fn finish(self, kind: Kind<'_>, scenario: Scenario<'static>) -> Result<Vec<Row>> {
        self.server.stop()?;
        let bytes = self.database.bytes()?.saturating_sub(self.empty_bytes) / self.turns.max(1);
        let row =
            |(connections, samples)| Row { database: kind.name(), scenario: scenario.name, connections, server: self.name, samples, bytes };
        Ok(self.samples.into_iter().map(row).collect())
    }
}

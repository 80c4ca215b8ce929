//! Timings: the engine, compared with the same server without a core (the ceiling).

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::server::{Server, time_to_first_answer};
use super::{Bench, Target};
use crate::sh;

/// The extent of the timings.
#[derive(Clone, Copy)]
pub struct Extent {
    rounds: usize,
    pub seconds: u64,
    /// The minimum number of conversations before memory is read; 0 adds none to those of the rounds.
    conversations: u64,
    /// How often the page is opened in each configuration.
    pub page_rounds: usize,
    /// The number of searches in each knowledge base.
    pub searches: u64,
}

impl Extent {
    pub const FULL: Extent = Extent { rounds: 5, seconds: 10, conversations: 10_000, page_rounds: 5, searches: 2_000 };
    pub const QUICK: Extent = Extent { rounds: 1, seconds: 3, conversations: 0, page_rounds: 1, searches: 200 };
}

/// The number of conversations from which the memory target applies.
const MEMORY_CONVERSATIONS: u64 = 10_000;
const STARTS: usize = 5;
const CONNECTIONS: [usize; 2] = [1, 8];

#[derive(Clone, Copy)]
struct Sample {
    rate: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

struct Pair {
    connections: usize,
    ceiling: Vec<Sample>,
    engine: Vec<Sample>,
}

/// The timings.
pub struct Speed {
    pairs: Vec<Pair>,
    first_answer_ms: Vec<f64>,
    resident_kb: u64,
    ceiling_resident_kb: u64,
    conversations: u64,
    database_bytes: u64,
}

/// A server with the number of turns and conversations that it has answered.
struct Measured {
    server: Server,
    turns: u64,
    conversations: u64,
}

impl Measured {
    fn new(server: Server) -> Self {
        Measured { server, turns: 0, conversations: 0 }
    }

    fn sample(&mut self, connections: usize, until: &str) -> Result<Sample> {
        let before = self.server.cpu_us()?;
        let load = self.server.run_load(connections, until)?;
        let cpu = self.server.cpu_us()? - before;
        self.turns += load.turns;
        self.conversations += load.conversations;
        Ok(Sample { rate: load.rate, p50_us: load.p50_us as f64, p99_us: load.p99_us as f64, cpu_us: cpu as f64 / load.turns as f64 })
    }
}

impl Speed {
    /// Measures both servers, alternating between them.
    pub fn measure(bench: &Bench<'_>, extent: Extent) -> Result<Self> {
        sh::print_progress("timing starts");
        let database = bench.create_database("start")?;
        let starts: Result<Vec<_>> = (0..STARTS).map(|_| time_to_first_answer(bench, &database)).collect();
        let first_answer_ms = starts?.iter().map(|it| it.as_secs_f64() * 1000.0).collect();

        let database = bench.create_database("engine")?;
        let empty = file_bytes(&database)?;
        let mut ceiling = Measured::new(Server::start_ceiling(bench, &bench.create_database("ceiling")?)?);
        let mut engine = Measured::new(Server::start_engine(bench, &database, &[])?);
        let mut pairs = Vec::new();
        for connections in CONNECTIONS {
            sh::print_progress(&format!("timing turns, {connections} connections, {} × {} s per server", extent.rounds, extent.seconds));
            let until = format!("seconds:{}", extent.seconds);
            let mut pair = Pair { connections, ceiling: Vec::new(), engine: Vec::new() };
            for _ in 0..extent.rounds {
                pair.ceiling.push(ceiling.sample(connections, &until)?);
                pair.engine.push(engine.sample(connections, &until)?);
            }
            pairs.push(pair);
        }
        let missing = extent.conversations.saturating_sub(engine.conversations);
        if missing > 0 {
            engine.sample(8, &format!("conversations:{missing}"))?;
        }
        Ok(Self {
            pairs,
            first_answer_ms,
            resident_kb: engine.server.resident_kb()?,
            ceiling_resident_kb: ceiling.server.resident_kb()?,
            conversations: engine.conversations,
            database_bytes: (file_bytes(&database)? - empty) / engine.turns.max(1),
        })
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{:<28}{:>26}{:>10}{:>10}{:>16}", "", "turns/s [min – max]", "p50 ms", "p99 ms", "CPU µs/turn");
        for pair in &self.pairs {
            for (what, samples) in [("ceiling (a)", &pair.ceiling), ("engine (b)", &pair.engine)] {
                let rate = |it: &Sample| it.rate;
                let (slowest, fastest) = samples.iter().map(rate).fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
                println!(
                    "{:<28}{:>26}{:>10.2}{:>10.2}{:>16.0}",
                    format!("{what}, {} connections", pair.connections),
                    format!("{:.0} [{slowest:.0} – {fastest:.0}]", median(samples, rate)),
                    median(samples, |it| it.p50_us) / 1000.0,
                    median(samples, |it| it.p99_us) / 1000.0,
                    median(samples, |it| it.cpu_us),
                );
            }
        }
        println!();
        println!("{:<52}{:>12.0}", "ms from start to the first answer, median of 5", self.first_answer_ms());
        println!("{:<52}{:>12}", format!("KB resident after {} conversations", self.conversations), self.resident_kb);
        println!("{:<52}{:>12}", "KB resident, ceiling", self.ceiling_resident_kb);
        println!("{:<52}{:>12}", "database bytes per turn", self.database_bytes);
    }

    /// Returns the targets.
    pub fn targets(&self) -> Vec<Target> {
        let mut aims = Vec::new();
        for pair in &self.pairs {
            let connections = pair.connections;
            let ratio = median(&pair.engine, |it| it.rate) / median(&pair.ceiling, |it| it.rate);
            let overhead = median(&pair.engine, |it| it.cpu_us) - median(&pair.ceiling, |it| it.cpu_us);
            aims.push(Target {
                label: format!("{connections} connections: (b) at least half of (a)"),
                measured: format!("{ratio:.2}"),
                met: Some(ratio >= 0.5),
            });
            aims.push(Target {
                label: format!("{connections} connections: CPU (b) − (a) at most 600 µs per turn"),
                measured: format!("{overhead:.0} µs"),
                met: Some(overhead <= 600.0),
            });
        }
        aims.push(Target {
            label: "at most 40 MB resident after 10,000 conversations".to_owned(),
            measured: format!("{:.1} MB", self.resident_kb as f64 / 1024.0),
            met: (self.conversations >= MEMORY_CONVERSATIONS).then_some(self.resident_kb <= 40 * 1024),
        });
        aims.push(Target {
            label: "at most 150 ms from start to the first answer".to_owned(),
            measured: format!("{:.0} ms", self.first_answer_ms()),
            met: Some(self.first_answer_ms() <= 150.0),
        });
        aims
    }

    fn first_answer_ms(&self) -> f64 {
        median(&self.first_answer_ms, |it| *it)
    }
}

fn median<T>(samples: &[T], value: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn file_bytes(path: &Path) -> Result<u64> {
    Ok(fs::metadata(path)?.len())
}

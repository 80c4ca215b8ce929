//! Whole turns: a server that is measured from its socket to its database.

mod instructions;
mod length;
mod memory;
mod round_trips;
mod rows;
mod timing;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

pub use self::instructions::Instructions;
use self::length::Length;
use self::memory::Memory;
use self::round_trips::RoundTrips;
use self::rows::Rows;
use self::timing::Timing;
use super::database::Kind;
use super::server::Scenario;
use super::{Bench, Extent, FLOW_PACK, PACK, Target};
use crate::postgres::{Durability, Postgres};
use crate::sh;

/// The setting that derives audit rows from journals when they are read.
pub const DERIVED: &str = "convengine.audit.persistence.mode=DERIVED";

/// Tables with all audit rows stored.
fn all() -> Scenario<'static> {
    Scenario { name: "tables, ALL", pack: Path::new(PACK), settings: &[] }
}

fn flow() -> Scenario<'static> {
    Scenario { name: "flow", pack: Path::new(FLOW_PACK), settings: &[] }
}

/// What is measured.
fn scenarios() -> [Scenario<'static>; 4] {
    [
        all(),
        Scenario { name: "tables, DERIVED", settings: &[DERIVED], ..all() },
        Scenario { name: "tables, no audit", settings: &["convengine.audit.enabled=false"], ..all() },
        flow(),
    ]
}

/// The databases that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Databases {
    Sqlite,
    Postgres,
    Both,
}

/// An engine that is measured: the current one, or the one it is compared with.
struct Engine {
    name: &'static str,
    program: PathBuf,
}

/// The name of the current engine in tables.
const NOW: &str = "now";

/// Returns the engines, the current one last.
fn engines(bench: &Bench<'_>, before: Option<&Path>) -> Vec<Engine> {
    let before = before.map(|it| Engine { name: "before", program: it.to_owned() });
    before.into_iter().chain([Engine { name: NOW, program: bench.release_binary("convengine") }]).collect()
}

/// The figures of whole turns.
pub struct WholeTurns {
    timing: Timing,
    round_trips: RoundTrips,
    length: Length,
    rows: Rows,
    memory: Memory,
}

impl WholeTurns {
    /// Measures everything, with the engine `before` alternating with the current one.
    pub fn measure(bench: &Bench<'_>, extent: Extent, databases: Databases, before: Option<&Path>) -> Result<Self> {
        let cluster = (databases != Databases::Sqlite).then(|| Postgres::start(Durability::Durable)).transpose()?;
        let sqlite = (databases != Databases::Postgres).then_some(Kind::Sqlite);
        let kinds: Vec<Kind<'_>> = sqlite.into_iter().chain(cluster.as_ref().map(Kind::Postgres)).collect();
        let engines = engines(bench, before);
        Ok(Self {
            timing: Timing::measure(bench, extent, &kinds, &engines)?,
            round_trips: RoundTrips::measure(bench, &kinds, &engines)?,
            length: Length::measure(bench, extent, &kinds, &engines)?,
            rows: Rows::measure(bench, extent, &kinds, &engines)?,
            memory: Memory::measure(bench, extent, &kinds, &engines)?,
        })
    }

    /// Prints the tables.
    pub fn print(&self) {
        self.timing.print();
        self.round_trips.print();
        self.length.print();
        self.rows.print();
        self.memory.print();
    }

    /// Returns the targets, which are those of the current engine.
    pub fn targets(&self) -> Vec<Target> {
        let parts = [self.timing.targets(), self.round_trips.targets(), self.length.targets(), self.rows.targets(), self.memory.targets()];
        parts.into_iter().flatten().collect()
    }
}

/// Returns the statements per turn on SQLite, with all audit rows stored.
pub fn count_statements(bench: &Bench<'_>) -> Result<u64> {
    let engines = engines(bench, None);
    let now = engines.last().context("no engine")?;
    round_trips::count_statements(bench, Kind::Sqlite, now, all()).map(|it| it.ceil() as u64)
}

/// Prints what is measured next.
fn print_progress(what: &str, kind: Kind<'_>, scenario: Scenario<'_>) {
    sh::print_progress(&format!("{what}: {}, {}", kind.name(), scenario.name));
}

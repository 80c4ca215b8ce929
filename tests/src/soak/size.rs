//! Measures the bytes that a turn takes in the database.

use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::database::{Database, DatabaseKind};
use super::load::{Until, run_load};
use super::{Mix, ServedPack};

/// The timeout for the server's sweep of effects.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of conversations of each pack; enough to make the rounding to pages negligible.
const CONVERSATIONS: usize = 60;

/// The number of turns of every second conversation.
const LONG_TURNS: usize = 16;

/// The storage size of turns.
#[derive(Debug, Clone, Copy)]
pub struct TurnSize {
    /// The number of turns.
    pub turns: usize,
    /// The growth of the database in bytes per turn: rows, indexes and free space in pages, but not free pages.
    pub bytes: u64,
    /// The size of the rows only, in bytes per turn.
    pub rows: u64,
}

/// Measures the size of a turn in a pack's conversations with these settings.
///
/// # Errors
/// If the pack cannot be repeated, or an answer differs from the undisturbed run.
pub fn measure_turn(binary: &Path, kind: &DatabaseKind, pack: &str, set: &[String]) -> Result<TurnSize> {
    let mix = Rc::new(Mix { servers: vec![ServedPack::start(binary, kind, pack, LONG_TURNS, set)?] });
    let database = &mix.servers[0].database;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?, database.row_bytes()?);
    let seen = run_load(&mix, 4, Until::Conversations(CONVERSATIONS))?;
    ensure!(seen.failures == 0, "unexpected answers ({}): {}", seen.failures, seen.failure_examples.join("; "));
    wait_for_sweep(database)?;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?.saturating_sub(bytes), database.row_bytes()?.saturating_sub(rows));
    Ok(TurnSize { turns: seen.micros.len(), bytes: seen.per_turn(bytes), rows: seen.per_turn(rows) })
}

/// Waits until the server has deleted the effects of ended turns.
fn wait_for_sweep(database: &Database) -> Result<()> {
    let until = Instant::now() + SWEEP_TIMEOUT;
    while database.query("select cast(count(*) as text) from ce_turn_effect")? != [["0"]] {
        ensure!(Instant::now() < until, "the effects of ended turns were not deleted");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

//! Measures the bytes that a turn takes in the database.

use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::database::{Database, Kind};
use super::load::{Until, hold};
use super::{Mix, Served};

/// The timeout for the server's sweep of effects.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of conversations of each pack; enough to make the rounding to pages negligible.
const CONVERSATIONS: usize = 60;

/// The number of turns of every second conversation.
const LONG: usize = 16;

/// The storage size of turns.
#[derive(Debug, Clone, Copy)]
pub struct Size {
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
pub fn of_a_turn(binary: &Path, kind: &Kind, pack: &str, set: &[String]) -> Result<Size> {
    let mix = Rc::new(Mix { served: vec![Served::start(binary, kind, pack, LONG, set)?] });
    let database = &mix.served[0].database;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?, database.row_bytes()?);
    let seen = hold(&mix, 4, Until::Conversations(CONVERSATIONS))?;
    ensure!(seen.failures == 0, "unexpected answers ({}): {}", seen.failures, seen.failed.join("; "));
    swept(database)?;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?.saturating_sub(bytes), database.row_bytes()?.saturating_sub(rows));
    Ok(Size { turns: seen.micros.len(), bytes: seen.a_turn(bytes), rows: seen.a_turn(rows) })
}

/// Waits until the server has deleted the effects of ended turns.
fn swept(database: &Database) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while database.rows("select cast(count(*) as text) from ce_turn_effect")? != [["0"]] {
        ensure!(Instant::now() < until, "the effects of ended turns were not deleted");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

//! What a turn takes on the disk.

use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::database::{Database, Kind};
use super::load::{Until, hold};
use super::{Mix, Served};

/// How long the server may take to sweep up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Conversations of each pack: enough that a page more or less does not matter.
const CONVERSATIONS: usize = 60;

/// Turns of every second conversation.
const LONG: usize = 16;

/// What turns take.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// How many there were.
    pub turns: usize,
    /// Bytes a turn by which the database grows: rows, indexes, and the room that is free in pages, but not that which waits to be used
    /// again.
    pub bytes: u64,
    /// Bytes a turn of the rows alone.
    pub rows: u64,
}

/// What a turn of a pack's conversations takes with these settings.
///
/// # Errors
/// When the pack cannot be repeated, or an answer is not as in the undisturbed run.
pub fn of_a_turn(binary: &Path, kind: &Kind, pack: &str, set: &[String]) -> Result<Size> {
    let mix = Rc::new(Mix { served: vec![Served::start(binary, kind, pack, LONG, set)?] });
    let database = &mix.served[0].database;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?, database.row_bytes()?);
    let seen = hold(&mix, 4, Until::Conversations(CONVERSATIONS))?;
    ensure!(seen.failures == 0, "{} answers are not as expected: {}", seen.failures, seen.failed.join("; "));
    swept(database)?;
    database.compact()?;
    let (bytes, rows) = (database.bytes()?.saturating_sub(bytes), database.row_bytes()?.saturating_sub(rows));
    Ok(Size { turns: seen.micros.len(), bytes: seen.a_turn(bytes), rows: seen.a_turn(rows) })
}

/// Waits until the server has swept up behind the turns.
fn swept(database: &Database) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while database.rows("select cast(count(*) as text) from ce_turn_effect")? != [["0"]] {
        ensure!(Instant::now() < until, "the effects of turns that have ended are still there");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

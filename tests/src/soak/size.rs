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

/// The bytes a turn of a pack's conversations with these settings: what is there for good, and no room that waits to be used again.
///
/// # Errors
/// When the pack cannot be repeated, or an answer is not as in the undisturbed run.
pub fn bytes_a_turn(binary: &Path, kind: &Kind, pack: &str, set: &[String]) -> Result<(usize, u64)> {
    let mix = Rc::new(Mix { served: vec![Served::start(binary, kind, pack, LONG, set)?] });
    let database = &mix.served[0].database;
    database.compact()?;
    let before = database.bytes()?;
    let seen = hold(&mix, 4, Until::Conversations(CONVERSATIONS))?;
    ensure!(seen.failures == 0, "{} answers are not as expected: {}", seen.failures, seen.failed.join("; "));
    swept(database)?;
    database.compact()?;
    Ok((seen.micros.len(), seen.a_turn(database.bytes()?.saturating_sub(before))))
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

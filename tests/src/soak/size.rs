//! What a turn takes on the disk.

use std::path::Path;
use std::rc::Rc;

use anyhow::Result;

use super::database::Kind;
use super::load::{Until, hold};
use super::{Mix, Served};

/// Conversations of each pack: enough that a page more or less does not matter.
const CONVERSATIONS: usize = 60;

/// Turns of every second conversation.
const LONG: usize = 16;

/// The bytes a turn of a pack's conversations with these settings.
///
/// # Errors
/// When the pack cannot be repeated, or an answer is not as in the undisturbed run.
pub fn bytes_a_turn(binary: &Path, kind: &Kind, pack: &str, set: &[String]) -> Result<(usize, u64)> {
    let mix = Rc::new(Mix { served: vec![Served::start(binary, kind, pack, LONG, set)?] });
    let seen = hold(&mix, 4, Until::Conversations(CONVERSATIONS))?;
    anyhow::ensure!(seen.failures == 0, "{} answers are not as expected: {}", seen.failures, seen.failed.join("; "));
    Ok((seen.micros.len(), seen.a_turn(seen.bytes)))
}

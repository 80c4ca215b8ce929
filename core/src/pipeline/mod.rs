//! The table-driven pipeline: a profile's steps, one after the other.

mod profile;
mod step;
mod wrap;

pub use profile::{Profile, V2};
pub use step::Step;

use crate::fault::Fault;
use crate::turning::Turning;

/// What a step says about the rest of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next step runs.
    Continue,
    /// The answer stands; no further step runs.
    Stop,
}

impl Flow {
    fn name(self) -> &'static str {
        match self {
            Flow::Continue => "Continue",
            Flow::Stop => "Stop",
        }
    }
}

/// Runs a profile.
///
/// # Errors
/// The fault of the step that failed; no further step runs.
pub async fn run(t: &mut Turning<'_>, profile: &Profile) -> Result<(), Fault> {
    for step in profile.order {
        if *step == Step::CacheInspectAudit && !t.config.settings.audit.cache_inspector {
            continue;
        }
        if wrap::run(t, *step).await? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

//! The table-driven pipeline: a profile's steps, one after the other.

mod step;
mod wrap;

use crate::config::Step;
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

/// Runs the steps of the configuration's profile.
///
/// # Errors
/// The fault of the step that failed; no further step runs.
pub async fn run(t: &mut Turning<'_>) -> Result<(), Fault> {
    for step in t.config.settings.profile.order {
        if *step == Step::CacheInspectAudit && !t.config.settings.audit.cache_inspector {
            continue;
        }
        if wrap::run(t, *step).await? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

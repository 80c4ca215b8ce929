//! The table-driven pipeline: runs the steps of a profile in order.

mod step;
mod wrap;

use crate::config::Step;
use crate::fault::Fault;
use crate::turning::Turning;

/// Whether the pipeline continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next step runs.
    Continue,
    /// The turn has its answer; no further step runs.
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
/// The fault of the failed step; no further step runs.
pub async fn run(cx: &mut Turning<'_>) -> Result<(), Fault> {
    for step in cx.config.settings.profile.order {
        if *step == Step::CacheInspectAudit && !cx.config.settings.audit.cache_inspector {
            continue;
        }
        if wrap::run(cx, *step).await? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

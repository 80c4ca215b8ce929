//! The table-driven pipeline: runs the steps of a profile in order.

mod step;
mod step_runner;

use convengine_config::Step;
use convengine_turn::Fault;

use crate::step_context::StepContext;

/// Whether the pipeline continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOutcome {
    /// The next step runs.
    Continue,
    /// The turn has its answer; no further step runs.
    Stop,
}

impl StepOutcome {
    fn name(self) -> &'static str {
        match self {
            StepOutcome::Continue => "Continue",
            StepOutcome::Stop => "Stop",
        }
    }
}

/// Runs the steps of the configuration's profile.
///
/// # Errors
/// The fault of the failed step; no further step runs.
pub async fn run(cx: &mut StepContext<'_>) -> Result<(), Fault> {
    for step in cx.config.settings.profile.order {
        if *step == Step::CacheInspectAudit && !cx.config.settings.audit.cache_inspector {
            continue;
        }
        if step_runner::run_step(cx, *step).await? == StepOutcome::Stop {
            break;
        }
    }
    Ok(())
}

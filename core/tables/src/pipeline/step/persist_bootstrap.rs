//! Sets a missing creation time, so that later steps can rely on it.
//! Reads: the row. Writes: its creation time. Waits for: nothing.

use super::StepOutcome;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if cx.session.stored.created_at <= 0 {
        cx.session.stored.created_at = cx.effects.now();
    }
    StepOutcome::Continue
}

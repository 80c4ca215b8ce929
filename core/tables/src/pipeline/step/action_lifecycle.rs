//! Expires the pending action, opens the turn's action, and records a confirmation or a rejection. (docs/spec/pipeline.md#2.10)
//! Reads: `ce_pending_action`, `pending_action_key`, `policy_decision`, context. Writes: `pending_action_runtime`,
//! `pending_action_runtime_status`; `policy_decision` when a confirmation comes too late. Waits for: nothing.

use super::StepOutcome;
use crate::pending_action;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if cx.config.settings.action_lifecycle.enabled {
        pending_action::start(cx);
    }
    StepOutcome::Continue
}

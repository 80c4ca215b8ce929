//! Lets the pending action expire, opens the one that the turn is about, and notes a yes or a no to it. (`spec/pipeline.md` 2.10)
//! Reads: `ce_pending_action`, `pending_action_key`, `policy_decision`, context. Writes: `pending_action_runtime`,
//! `pending_action_runtime_status`; `policy_decision` when a yes comes too late. Waits for: nothing.

use super::Flow;
use crate::action;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    if t.config.settings.action_lifecycle.enabled {
        action::start(t);
    }
    Flow::Continue
}

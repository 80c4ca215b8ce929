//! Resets the conversation when the resolved intent is configured for a reset; the turn continues. (docs/spec/pipeline.md#2.15)
//! Reads: the intent, `RESET_INTENT_CODES`. Writes: everything. Waits for: nothing.

use super::{Flow, reset};
use crate::config::same_code;
use crate::turning::Turning;

pub(super) fn run(cx: &mut Turning<'_>) -> Flow {
    let codes = &cx.config.agent.reset_intents;
    if !cx.session.stalled && codes.iter().any(|it| same_code(it, &cx.session.intent)) {
        reset::start_over_for(cx, "INTENT_RESOLVED_RESET", codes);
    }
    Flow::Continue
}

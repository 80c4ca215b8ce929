//! Starts the conversation over when the intent that was found asks for it; the turn goes on. (`spec/pipeline.md` 2.15)
//! Reads: the intent, `RESET_INTENT_CODES`. Writes: everything. Waits for: nothing.

use super::{Flow, reset};
use crate::config::same_code;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    let codes = &t.config.agent.reset_intents;
    if !t.session.stalled && codes.iter().any(|it| same_code(it, &t.session.intent)) {
        reset::start_over_for(t, "INTENT_RESOLVED_RESET", codes);
    }
    Flow::Continue
}

//! Resets the conversation when the resolved intent is configured for a reset; the turn continues. (docs/spec/pipeline.md#2.15)
//! Reads: the intent, `RESET_INTENT_CODES`. Writes: everything. Waits for: nothing.

use convengine_config::is_same_code;

use super::{StepOutcome, reset};
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    let codes = &cx.config.intent_resolver.reset_intents;
    if !cx.session.is_question_turn && codes.iter().any(|code| is_same_code(code, &cx.session.intent)) {
        reset::reset_for_intents(cx, "INTENT_RESOLVED_RESET", codes);
    }
    StepOutcome::Continue
}

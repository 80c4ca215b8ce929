//! Sets a missing intent or state to UNKNOWN.
//! Reads: intent, state. Writes: intent, state. Waits for: nothing.

use convengine_config::UNKNOWN;
use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if cx.session.intent.trim().is_empty() {
        cx.audit(Stage::IntentMissing, |session| {
            json!({
                "intent": null, "state": session.state, "context": session.context, "userText": session.user_text,
                "fallbackIntent": UNKNOWN,
            })
        });
        cx.session.set_intent(UNKNOWN);
    }
    if cx.session.state.trim().is_empty() {
        cx.audit(Stage::StateMissing, |session| {
            json!({
                "intent": session.intent, "state": null, "context": session.context, "userText": session.user_text,
                "fallbackState": UNKNOWN,
            })
        });
        cx.session.state = UNKNOWN.to_owned();
    }
    StepOutcome::Continue
}

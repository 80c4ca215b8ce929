//! Resets the conversation when a parameter or the message requests it; the turn continues.
//! Reads: `reset`, `restart`, `conversation_reset`, `_reset`, the message. Writes: everything. Waits for: nothing.

use serde_json::json;

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if let Some(reason) = cx.session.reset_reason() {
        reset_conversation(cx, &reason);
    }
    StepOutcome::Continue
}

/// Resets the session and audits the reason.
pub(super) fn reset_conversation(cx: &mut StepContext<'_>, reason: &str) {
    reset_for_intents(cx, reason, &[]);
}

/// Resets the session and audits the reason and the intents configured for a reset.
pub(super) fn reset_for_intents(cx: &mut StepContext<'_>, reason: &str, intents: &[String]) {
    let now = cx.effects.now();
    cx.session.reset(now);
    cx.audit(Stage::ConversationReset, |session| {
        let mut payload = json!({"reason": reason, "intent": session.intent, "state": session.state, "context": "{}"});
        if let Some(payload) = payload.as_object_mut().filter(|_| !intents.is_empty()) {
            payload.insert("matchedResetIntentCodes".to_owned(), json!(intents));
        }
        payload
    });
}

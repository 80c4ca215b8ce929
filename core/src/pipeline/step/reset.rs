//! Resets the conversation when a parameter or the message requests it; the turn continues.
//! Reads: `reset`, `restart`, `conversation_reset`, `_reset`, the message. Writes: everything. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::turning::Turning;

pub(super) fn run(cx: &mut Turning<'_>) -> Flow {
    if let Some(reason) = cx.session.reset_reason() {
        start_over(cx, &reason);
    }
    Flow::Continue
}

/// Resets the session and audits the reason.
pub(super) fn start_over(cx: &mut Turning<'_>, reason: &str) {
    start_over_for(cx, reason, &[]);
}

/// Resets the session and audits the reason and the intents configured for a reset.
pub(super) fn start_over_for(cx: &mut Turning<'_>, reason: &str, intents: &[String]) {
    let now = cx.door.now();
    cx.session.reset(now);
    cx.audit(Stage::ConversationReset, |session| {
        let mut payload = json!({"reason": reason, "intent": session.intent, "state": session.state, "context": "{}"});
        if let Some(payload) = payload.as_object_mut().filter(|_| !intents.is_empty()) {
            payload.insert("matchedResetIntentCodes".to_owned(), json!(intents));
        }
        payload
    });
}

//! Starts the conversation over when a parameter or the message asks for it; the turn goes on.
//! Reads: `reset`, `restart`, `conversation_reset`, `_reset`, the message. Writes: everything. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    if let Some(reason) = t.session.reset_reason() {
        start_over(t, &reason);
    }
    Flow::Continue
}

/// Resets the session and says why.
pub(super) fn start_over(t: &mut Turning<'_>, reason: &str) {
    start_over_for(t, reason, &[]);
}

/// Resets the session and says why, and for which of the intents that ask for it.
pub(super) fn start_over_for(t: &mut Turning<'_>, reason: &str, intents: &[String]) {
    let now = t.door.now();
    t.session.reset(now);
    t.audit(Stage::ConversationReset, |session| {
        let mut payload = json!({"reason": reason, "intent": session.intent, "state": session.state, "context": "{}"});
        if let Some(payload) = payload.as_object_mut().filter(|_| !intents.is_empty()) {
            payload.insert("matchedResetIntentCodes".to_owned(), json!(intents));
        }
        payload
    });
}

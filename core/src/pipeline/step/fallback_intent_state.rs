//! Gives a session without intent or state the code UNKNOWN.
//! Reads: intent, state. Writes: intent, state. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::UNKNOWN;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    if t.session.intent.trim().is_empty() {
        t.audit(
            Stage::IntentMissing,
            |it| json!({"intent": null, "state": it.state, "context": it.context, "userText": it.user_text, "fallbackIntent": UNKNOWN}),
        );
        t.session.set_intent(UNKNOWN);
    }
    if t.session.state.trim().is_empty() {
        t.audit(
            Stage::StateMissing,
            |it| json!({"intent": it.intent, "state": null, "context": it.context, "userText": it.user_text, "fallbackState": UNKNOWN}),
        );
        t.session.state = UNKNOWN.to_owned();
    }
    Flow::Continue
}

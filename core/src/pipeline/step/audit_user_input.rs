//! Audits the user's message.
//! Reads: the message. Writes: nothing. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::turning::Turning;

pub(super) fn run(cx: &mut Turning<'_>) -> Flow {
    cx.audit(Stage::UserInput, |session| json!({"text": session.user_text}));
    Flow::Continue
}

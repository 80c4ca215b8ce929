//! Audits the user's message.
//! Reads: the message. Writes: nothing. Waits for: nothing.

use convengine_turn::payload;

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    // `question` is the name that existing clients read. (docs/spec/clients.md#A.10)
    cx.audit(Stage::UserInput, |session| payload!({"text": session.user_text, "question": session.user_text}));
    StepOutcome::Continue
}

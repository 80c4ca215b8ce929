//! Takes the loaded conversation or creates a new one, and audits reserved client parameters that were dropped.
//! Reads: the turn's input. Writes: the row of a new conversation, `memory_recall`. Waits for: nothing (the host loads before the turn).

use convengine_config::Step;
use convengine_turn::{Write, payload};

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    if cx.session.is_new {
        // Committed even when the turn fails: the conversation has begun.
        cx.session.writes.push(Write::Conversation(cx.session.stored.clone()));
    }
    let settings = &cx.config.settings;
    cx.session.params.retain(|key, _| !settings.profile.is_stale(key));
    if let Some(memory) = cx.session.memory.as_ref().filter(|_| settings.memory.enabled && settings.profile.has_step(Step::Memory)) {
        let summary = memory.summary.clone();
        cx.session.set_param("memory_recall", summary);
    }
    for key in cx.session.ignored_params.clone() {
        cx.audit(Stage::InputParamIgnored, |_| payload!({"key": key, "reason": "reserved for the engine"}));
    }
    StepOutcome::Continue
}

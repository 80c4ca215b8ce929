//! Takes the loaded conversation, or begins a new one, and says which reserved parameters of the client were dropped.
//! Reads: the turn's input. Writes: the row of a new conversation, `memory_recall`. Waits for: nothing (the host loads before the turn).

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::config::Step;
use crate::turn::Write;
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    if t.session.created {
        // Kept as it is even when the turn fails: the conversation has begun.
        t.session.kept.push(Write::Conversation(t.session.stored.clone()));
    }
    let settings = &t.config.settings;
    t.session.params.retain(|key, _| !settings.profile.is_stale(key));
    if let Some(memory) = t.session.memory.as_ref().filter(|_| settings.memory.enabled && settings.profile.runs(Step::Memory)) {
        let summary = memory.summary.clone();
        t.session.set_param("memory_recall", summary);
    }
    for key in t.session.ignored_params.clone() {
        t.audit(Stage::InputParamIgnored, |_| json!({"key": key, "reason": "reserved for the engine"}));
    }
    Flow::Continue
}

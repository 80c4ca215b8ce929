//! Closes the turn: timings, and the exchange for later prompts. (`spec/pipeline.md` 2.27)
//! Reads: timings, message, answer. Writes: a history row. Waits for: nothing.

use serde_json::json;

use super::Flow;
use crate::audit::Stage;
use crate::turn::{HistoryRow, Write};
use crate::turning::Turning;

pub(super) fn run(t: &mut Turning<'_>) -> Flow {
    // The host puts its own measurement from message to commit in the place of the total.
    t.audit(Stage::PipelineTiming, |session| {
        let steps = session.step_infos.iter().filter_map(|it| it.left.as_ref().map(|left| (it, left)));
        let timings: Vec<(&str, i64, bool)> =
            steps.map(|(it, left)| (it.name, left.at.saturating_sub(it.started), left.result.is_ok())).collect();
        let total: i64 = timings.iter().map(|it| it.1).sum();
        let step = |it: &(&str, i64, bool)| format!("{}={}ms{}", it.0, it.1, if it.2 { "" } else { "(ERR)" });
        let steps: Vec<String> = timings.iter().map(step).collect();
        json!({"totalMs": total, "steps": steps.join(", ")})
    });
    let user = t.session.user_text.clone().filter(|it| !it.trim().is_empty());
    let assistant = t.session.last_assistant.clone().filter(|it| !it.trim().is_empty());
    if let (Some(user_input), Some(assistant_output)) = (user, assistant) {
        t.session.kept.push(Write::History(HistoryRow { user_input, assistant_output, created_at: t.door.now() }));
    }
    Flow::Continue
}

//! Ends the turn: audits the timings and stores the exchange for later prompts. (docs/spec/pipeline.md#2.27)
//! Reads: timings, message, answer. Writes: a history row. Waits for: nothing.

use convengine_turn::{HistoryRow, Write, payload};

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    // The host replaces the total with its own measurement from message to commit.
    cx.audit(Stage::PipelineTiming, |session| {
        let steps = session.step_infos.iter().filter_map(|it| it.exit.as_ref().map(|exit| (it, exit)));
        let timings: Vec<(&str, i64, bool)> =
            steps.map(|(it, exit)| (it.name, exit.at.saturating_sub(it.started), exit.result.is_ok())).collect();
        let total: i64 = timings.iter().map(|it| it.1).sum();
        let step = |it: &(&str, i64, bool)| format!("{}={}ms{}", it.0, it.1, if it.2 { "" } else { "(ERR)" });
        let steps: Vec<String> = timings.iter().map(step).collect();
        payload!({"totalMs": total, "steps": steps.join(", ")})
    });
    let user = cx.session.user_text.clone().filter(|it| !it.trim().is_empty());
    let assistant = cx.session.last_assistant.clone().filter(|it| !it.trim().is_empty());
    if let (Some(user_input), Some(assistant_output)) = (user, assistant) {
        cx.session.writes.push(Write::History(HistoryRow { user_input, assistant_output, created_at: cx.effects.now() }));
    }
    StepOutcome::Continue
}

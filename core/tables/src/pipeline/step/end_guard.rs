//! Ends the turn: audits the timings and stores the exchange for later prompts. (docs/spec/pipeline.md#2.27)
//! Reads: timings, message, answer. Writes: a history row. Waits for: nothing.

use convengine_turn::{HistoryRow, Write, payload};

use super::StepOutcome;
use crate::audit::Stage;
use crate::step_context::StepContext;

pub(super) fn run(cx: &mut StepContext<'_>) -> StepOutcome {
    // The host replaces the total with its own measurement from message to commit.
    cx.audit(Stage::PipelineTiming, |session| {
        let steps = session.step_infos.iter().filter_map(|info| info.exit.as_ref().map(|exit| (info, exit)));
        let timings: Vec<(&str, i64, bool)> =
            steps.map(|(info, exit)| (info.name, exit.at.saturating_sub(info.started), exit.result.is_ok())).collect();
        let total: i64 = timings.iter().map(|(_, duration, _)| duration).sum();
        let step =
            |(name, duration, succeeded): &(&str, i64, bool)| format!("{name}={duration}ms{}", if *succeeded { "" } else { "(ERR)" });
        let steps: Vec<String> = timings.iter().map(step).collect();
        payload!({"totalMs": total, "steps": steps.join(", ")})
    });
    let user = cx.session.user_text.clone().filter(|text| !text.trim().is_empty());
    let assistant = cx.session.last_assistant.clone().filter(|text| !text.trim().is_empty());
    if let (Some(user_input), Some(assistant_output)) = (user, assistant) {
        cx.session.writes.push(Write::History(HistoryRow { user_input, assistant_output, created_at: cx.effects.now() }));
    }
    StepOutcome::Continue
}

//! Runs the rules before the response is selected.
//! Reads: `ce_rule`, the turn's facts. Writes: what the rules set, the engine's context keys. Waits for: rule tasks.

use convengine_config::Phase;
use convengine_turn::Fault;

use super::StepOutcome;
use crate::rules;
use crate::step_context::StepContext;

pub(super) async fn run(cx: &mut StepContext<'_>) -> Result<StepOutcome, Fault> {
    cx.session.state_at_rules = Some(cx.session.state.clone());
    // A turn that asks for an action only asks the question: intent and state stay, and no task is called.
    if !cx.session.is_question_turn {
        rules::run_pass(cx, Phase::PreResponseResolution, "RulesStep").await;
    }
    cx.session.write_context();
    Ok(StepOutcome::Continue)
}

//! Runs the rules before the response is chosen.
//! Reads: `ce_rule`, the facts of the turn. Writes: what the rules say, the context's own keys. Waits for: rule tasks.

use super::Flow;
use crate::config::Phase;
use crate::fault::Fault;
use crate::rules;
use crate::turning::Turning;

pub(super) async fn run(t: &mut Turning<'_>) -> Result<Flow, Fault> {
    t.session.state_at_rules = Some(t.session.state.clone());
    // A turn that asks which action is meant only says the question: intent and state stay, and no task is called.
    if !t.session.stalled {
        rules::pass(t, Phase::PreResponseResolution, "RulesStep").await;
    }
    t.session.write_context();
    Ok(Flow::Continue)
}
